// A program whose variables are of the kinds that Rust adds: enums with data, slices, options, closures, generics.
use std::collections::HashMap;
use std::hint::black_box;

static mut COUNT: u64 = 3;
static LIMITS: [i32; 3] = [10, 20, 30];

#[derive(Clone, Copy)]
struct Point {
    x: i32,
    y: i64,
}

struct Pair<T>(T, T);

enum Shape {
    Empty,
    Circle(f64),
    Box { width: u32, height: u32 },
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Low = 1,
    High = 200,
}

trait Area {
    fn area(&self, scale: u64) -> u64;
}

impl Area for Point {
    #[inline(never)]
    fn area(&self, scale: u64) -> u64 {
        let product = self.x as u64 * self.y as u64;
        black_box(product);
        product * scale
    }
}

impl Point {
    #[inline(never)]
    fn moved(self, dx: i32, dy: i64) -> Point {
        let x = self.x + dx;
        black_box(x);
        let y = self.y + dy;
        black_box(y);
        Point { x, y }
    }
}

#[inline(never)]
fn many(a: u8, b: i16, c: u32, d: i64, e: usize, f: bool, g: char, h: i128, i: &mut i64) -> i64 {
    let mut sum = a as i64 + b as i64;
    black_box(sum);
    sum += c as i64 + d + e as i64;
    black_box(sum);
    if f {
        sum += g as i64 + h as i64;
    }
    *i += sum;
    black_box(*i);
    sum
}

#[inline(never)]
fn slices(items: &[i64], text: &str, pair: (u8, u64)) -> i64 {
    let mut total = pair.0 as i64;
    for item in items {
        let doubled = item * 2;
        total += black_box(doubled);
    }
    let length = text.len();
    black_box(length);
    total + length as i64 + pair.1 as i64
}

#[inline(never)]
fn shapes(shape: &Shape, level: Level) -> u64 {
    let area = match shape {
        Shape::Empty => 0,
        Shape::Circle(radius) => (radius * 3.0) as u64,
        Shape::Box { width, height } => (width * height) as u64,
    };
    black_box(area);
    area + level as u64
}

#[inline(never)]
fn options(value: Option<u32>, point: Option<&Point>, text: Option<String>) -> u64 {
    let number = value.unwrap_or(7);
    black_box(number);
    let x = point.map_or(0, |point| point.x);
    black_box(x);
    number as u64 + x as u64 + text.map_or(0, |text| text.len() as u64)
}

#[inline(never)]
fn generic<T: Copy + Into<i64>>(pair: &Pair<T>, count: usize) -> i64 {
    let mut sum: i64 = 0;
    for index in 0..count {
        let each: i64 = if index % 2 == 0 { pair.0.into() } else { pair.1.into() };
        sum += each;
        black_box(sum);
    }
    sum
}

#[inline(never)]
fn closures(start: i64) -> i64 {
    let mut seen = start;
    let mut add = |more: i64| {
        let local = seen + more;
        seen += 1;
        black_box(local);
        local
    };
    let sum = add(2) + add(3);
    black_box(sum);
    sum + seen
}

#[inline(never)]
fn shadowed(value: i32) -> i64 {
    let value = value as i64 * 3;
    black_box(value);
    let result = {
        let value = [value, 2, 3];
        black_box(value);
        value[0] + value[2]
    };
    black_box(result);
    result
}

#[inline(never)]
fn tabled(count: u32) -> u64 {
    let mut table = HashMap::new();
    for key in 0..count {
        table.insert(key, key as u64 * 2);
    }
    let sum: u64 = table.values().sum();
    unsafe {
        COUNT += sum;
        black_box(COUNT);
    }
    sum + LIMITS[count as usize % 3] as u64
}

fn main() {
    let mut last: i64 = std::env::args().count() as i64;
    let items = vec![1i64, 2, last];
    let point = Point { x: 3, y: last };
    for round in 0..2u32 {
        last += many(1, -2, 3 + round, 4, 5, round == 1, 'g', -8, &mut last.clone());
        last += slices(&items, "text", (9, 10));
        last += point.area(2) as i64 + point.moved(round as i32, 5).y;
        for shape in [Shape::Empty, Shape::Circle(1.5), Shape::Box { width: 2, height: 3 + round }] {
            last += shapes(&shape, if round == 0 { Level::Low } else { Level::High }) as i64;
        }
        last += options(Some(round), Some(&point), Some(String::from("string"))) as i64;
        last += options(None, None, None) as i64;
        last += generic(&Pair(1i32, 2), 3) + generic(&Pair(5i64, 6), 2);
        last += closures(last) + shadowed(round as i32) + tabled(3) as i64;
    }
    black_box(last);
}
