// A program whose variables are of the kinds that C++ adds: classes, references, templates, lambdas.
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define APART __attribute__((noinline))

volatile long sink;

namespace outer {
inline namespace inner {
enum class Color : unsigned char { red = 1, green = 200 };

struct Base {
    explicit Base(int weight) : weight(weight) {}
    virtual ~Base() = default;
    virtual long cost(int count) const { return static_cast<long>(weight) * count; }
    int weight;
};

struct Mixin {
    short extra = 3;
    static long made;
};
long Mixin::made = 2;

class Derived : public Base, public Mixin {
  public:
    Derived(int weight, const std::string &label) : Base(weight), label(label) { made++; }
    APART long cost(int count) const override;
    APART long add(const Derived &other, int &result, int &&moved);
    APART static long shared(long value, Color color);
    std::string label;

  private:
    Color color = Color::green;
    unsigned bits : 3 = 5;
    bool ready : 1 = true;
};

long Derived::cost(int count) const
{
    long base = Base::cost(count);
    sink = base;
    long more = extra + base;
    sink = more;
    return more;
}

long Derived::add(const Derived &other, int &result, int &&moved)
{
    int sum = weight + other.weight;
    result += sum;
    sink = result;
    moved += 1;
    sink = moved + bits;
    return sum;
}

long Derived::shared(long value, Color color)
{
    static int count = 1;
    count += 2;
    long scaled = value * static_cast<int>(color);
    sink = scaled + count;
    return scaled;
}

template <typename T, int N> struct Fixed {
    T items[N];
    APART T sum(T start) const
    {
        T total = start;
        for (int index = 0; index < N; index++) {
            T item = items[index];
            total += item;
            sink = static_cast<long>(total);
        }
        return total;
    }
};

template <typename T> APART T larger(const T &one, const T &two)
{
    bool is_first = two < one;
    sink = is_first;
    return is_first ? one : two;
}

template <typename... Rest> APART long all(int first, Rest... rest)
{
    long count = sizeof...(rest);
    sink = first + count;
    return first + count;
}
} // namespace inner

namespace {
long hidden = 6;
APART long anonymous(long value)
{
    long result = value + hidden;
    sink = result;
    hidden++;
    return result;
}
} // namespace

APART long overloaded(int value)
{
    int copy = value + 1;
    sink = copy;
    return copy;
}
APART long overloaded(const char *value)
{
    char first = value[0];
    sink = first;
    return first;
}
} // namespace outer

APART long lambdas(int start)
{
    int captured = start * 2;
    auto add = [&captured, start](int more) {
        int local = captured + more;
        captured += start;
        sink = local;
        return local;
    };
    std::function<int(int)> kept = add;
    long sum = add(1) + kept(2);
    sink = sum;
    return sum;
}

APART long containers(int count)
{
    std::vector<int> numbers;
    std::map<std::string, long> named;
    for (int index = 0; index < count; index++) {
        numbers.push_back(index * index);
        named["n" + std::to_string(index)] = index;
    }
    long sum = 0;
    for (const auto &[name, value] : named) {
        sum += value;
        sink = sum;
    }
    for (int number : numbers) {
        sum += number;
        sink = sum;
    }
    return sum;
}

APART long pointers(outer::Base *base, std::unique_ptr<outer::Base> owned, int outer::Base::*member)
{
    long cost = base->cost(3);
    sink = cost;
    if (auto *derived = dynamic_cast<outer::Derived *>(base)) {
        int weight = derived->*member;
        sink = weight;
        cost += weight;
    }
    return cost + owned->weight;
}

APART long thrown(int value)
{
    try {
        if (value > 1)
            throw value * 2;
        sink = value;
    } catch (int caught) {
        sink = caught;
        return caught;
    }
    return value;
}

int main(int argc, char **argv)
{
    outer::Derived one(argc, "one"), two(argc + 4, argv[0]);
    int result = 3;
    long last = 0;
    for (int round = 0; round < 2; round++) {
        last += one.cost(round);
        last += one.add(two, result, round + 5);
        last += outer::Derived::shared(round, outer::Color::green);
        outer::Fixed<long, 3> longs{{1, 2, 3}};
        outer::Fixed<double, 2> doubles{{0.5, argc * 1.5}};
        last += longs.sum(round) + static_cast<long>(doubles.sum(0.25));
        last += outer::larger(argc, 4) + outer::larger<long>(round, last);
        last += outer::all(argc, 2L, 'c') + outer::anonymous(round);
        last += outer::overloaded(argc) + outer::overloaded(argv[0]);
        last += lambdas(round) + containers(2);
        last += pointers(&two, std::make_unique<outer::Base>(argc), &outer::Base::weight);
        last += thrown(argc + round);
    }
    return last == 1;
}
