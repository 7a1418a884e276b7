#include <vector>
#include <string>
#include <map>
#include <memory>
#include <functional>
#include <array>
#include <iostream>
#include <unordered_map>
#include <cstdint>
#include <string_view>
#define NI __attribute__((noinline, noclone, used))
#define B { __asm__ volatile("" ::: "memory"); }
#define BR(x) { __asm__ volatile("" ::: "memory"); return x; }
namespace shapes {
enum class Color { red, green };
template <class T> struct Box { T v; NI Box(T x) : v(x) B NI Box(const Box& o) : v(o.v) B NI ~Box() noexcept B NI T get(int) const BR(v) NI void set(T) B
  template <class U> NI U as(T, U u) BR(u)  struct In { NI void go(Box*) B }; };
struct Shape { int s = 0; NI Shape() B NI Shape(int) B virtual NI ~Shape() B NI int area(int) BR(1) NI int area(int) const BR(2) NI int area(long) & BR(3) NI int area(unsigned) && BR(4)
  NI int operator()(int) const BR(1) NI int operator[](int) BR(1) NI Shape& operator<<(int) BR(*this) NI Shape& operator>>(int) BR(*this) NI bool operator<(const Shape&) const BR(true)
  NI bool operator>(const Shape&) const BR(true) NI bool operator==(const Shape&) const BR(true) NI Shape* operator->() BR(this) NI Shape& operator++() BR(*this) NI Shape& operator+=(int) BR(*this)
  NI explicit operator bool() const BR(true) NI operator std::string() const BR("x") NI operator int*() BR(&s) NI Shape operator*(const Shape&) const BR(*this) NI Shape operator,(int) BR(*this)
  void* operator new(size_t n) __attribute__((noinline)) { return malloc(n); } void operator delete(void* p) __attribute__((noinline)) { free(p); } static NI int make(int) BR(1) };
namespace { NI int hidden(int) BR(1) struct Secret { NI void tell(const Shape&) B }; }
inline namespace v2 { NI int current(Color) BR(1) }
template <int N> NI int fixed() BR(N)
template <class T, unsigned long N> NI int filled(const std::array<T, N>&) BR(N)
template <Color C> NI int colored() BR(1)
template <class... T> NI int many(T...) BR(sizeof...(T))
template <template <class> class W> NI int outer(W<int>&) BR(1)
template <class T> NI T largest(T a, T b) BR(a > b ? a : b)
template <> NI char largest<char>(char a, char b) BR(b)
template <class T> NI typename std::enable_if<std::is_integral<T>::value, T>::type only(T a) BR(a)
template <class T> NI auto twice(T a) -> decltype(a + a) BR(a + a)
template <bool X> NI void flag() B
struct Mul : Shape { NI ~Mul() override B };
NI long double operator""_km(long double x) BR(x)
NI bool operator==(const Box<int>&, int) BR(true)
template <class T> NI bool operator<(const Box<T>&, int) BR(true)
template <class T> NI std::ostream& operator<<(std::ostream& o, const Box<T>&) BR(o)
}
using namespace shapes;
NI void cb(void (*)(int), int) B
NI void cb2(int (*(*)(char))(long), const char*) B
NI void mp(int Shape::*, int (Shape::*)(int) const) B
NI void arr(const char (&)[6], int (*)[3]) B
NI void fn(std::function<int(const std::string&, unsigned long)>) B
NI void st(std::string, const std::string&, std::string&&, std::string_view, std::wstring) B
NI void mapd(const std::map<std::string, std::vector<int>>&, std::unordered_map<int, std::unique_ptr<Shape>>&) B
NI void sizes(size_t, uint8_t, int64_t, uint16_t, long long, unsigned long long, signed char, char) B
NI void va(const char*, ...) B
NI void np(std::nullptr_t, bool, float, double, long double, __int128) B
NI void pp(const char* const*, volatile int*, const void*) B
__attribute__((abi_tag("v3"))) NI int tagged(int) BR(1)
NI int tagged2(int) __attribute__((abi_tag("v4")));
int tagged2(int) BR(1)
static NI int local(int) BR(1)
static NI int local(const Shape*) BR(1)
extern "C" NI int plain(int) BR(1)
NI int plain(long) BR(1)
NI std::string made(int) BR("x")
namespace other { NI int local(int) BR(1) NI void f(Shape) B }
NI void f(Shape) B
int (*pick(int))(char) __attribute__((noinline));
int (*pick(int))(char) BR(nullptr)
template <class T> NI int (*tpick(T))(char) BR(nullptr)
int main() {
  Box<int> b(1); Box<std::string> bs("x"); Box<int> b2(b); b.get(1); b.set(2); bs.get(1); bs.set("y"); b.as<long>(1, 2L); b.as<std::string>(1, "x"); Box<int>::In().go(&b); b == 1; b < 1; std::cout << b;
  Shape s, s2(1); const Shape& c = s; s.area(1); c.area(1); s.area(1L); Shape().area(1u); s(1); s[1]; s << 1; s >> 1; s < s2; s > s2; s == s2; s.operator->(); ++s; s += 1; (bool)s; std::string x = s; int* p = s; s * s2; (s, 1); delete new Shape; Shape::make(1);
  hidden(1); Secret().tell(s); current(Color::red); fixed<3>(); fixed<-1>(); filled(std::array<int, 3>{}); colored<Color::green>(); many(1, 2L, 'c'); many(); outer<Box>(b); largest(1, 2); largest(1.0, 2.0); largest<std::string>("a", "b"); largest('a', 'b'); only(1); twice(1); twice(1.5); flag<true>(); Mul m; 1.0_km;
  cb(nullptr, 1); cb2(nullptr, ""); mp(nullptr, nullptr); arr("hello", nullptr); fn(nullptr); st("", "", "", "", L""); mapd({}, *new std::unordered_map<int, std::unique_ptr<Shape>>); sizes(1, 2, 3, 4, 5, 6, 7, 8); va("", 1); np(nullptr, 1, 1, 1, 1, 1); pp(nullptr, nullptr, nullptr); tagged(1); tagged2(1); local(1); local(&s); plain(1); plain(1L); made(1); other::local(1); other::f(s); f(s); pick(1); tpick(1);
  auto l = [&](int q) NI { __asm__ volatile("" : : "r"(&s)); return q; }; l(1); auto g = [](auto q) NI { __asm__ volatile(""); return q; }; g(1); g(2.0);
  struct Loc { NI void m(int) B }; Loc().m(1); std::function<void(int)> ff = l; ff(1);
}
