/// Every kind of fault is found, named, and blamed on its kernel.
#include "kernel/verify.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "kernel/builder.hpp"
#include "kernel/random_kernel.hpp"
#include "strata/error.hpp"

namespace strata::kernel {
namespace {

constexpr Type f32{Scalar::f32, 1}, f32x4{Scalar::f32, 4}, i64{Scalar::i64, 1}, i32{Scalar::i32, 1},
    boolean{Scalar::boolean, 1};

/// A hand-made kernel: what the builder would refuse to record.
struct Handmade {
  Kernel kernel;
  Handmade() {
    kernel.name = "broken";
    kernel.memories.push_back({Space::global, Scalar::f32, false, 0, 64, "x"});
    kernel.memories.push_back({Space::global, Scalar::f32, true, 0, 64, "y"});
    kernel.memories.push_back({Space::local, Scalar::f32, true, 8, 64, "t"});
    kernel.scalars.push_back({Scalar::f32, "a"});
  }
  ValueId value(Type t) {
    kernel.types.push_back(t);
    return static_cast<ValueId>(kernel.types.size() - 1);
  }
  Instruction& add(Opcode op, std::vector<ValueId> operands = {}) {
    return add_to(kernel.body, op, std::move(operands));
  }
  Instruction& add_to(Block& b, Opcode op, std::vector<ValueId> operands = {}) {
    auto& i = b.instructions.emplace_back();
    i.opcode = op;
    i.operands = std::move(operands);
    return i;
  }
  ValueId result(Opcode op, Type t, std::vector<ValueId> operands = {}, MemoryId memory = no_memory,
                 std::int64_t immediate = 0) {
    auto& i = add(op, std::move(operands));
    i.memory = memory;
    i.immediate = immediate;
    i.result = value(t);
    return i.result;
  }
  ValueId constant(Type t, std::int64_t bits = 0) { return result(Opcode::constant, t, {}, no_memory, bits); }
  ValueId load(ValueId index, Type t = f32, MemoryId m = 0) { return result(Opcode::load, t, {index}, m); }
  void store(ValueId index, ValueId v, MemoryId m = 1) { add(Opcode::store, {index, v}).memory = m; }
};

struct Fault {
  const char* name;
  const char* message;  ///< part of it
  std::function<void(Handmade&)> make;
};

const Fault faults[] = {
    {"operands of two types", "operand types f32 and i64 differ",
     [](Handmade& h) {
       const auto i = h.constant(i64);
       h.result(Opcode::add, f32, {h.load(i), i});
     }},
    {"operands of two lane counts", "lanes of f32x4",
     [](Handmade& h) {
       const auto i = h.constant(i64);
       h.result(Opcode::mul, f32, {h.load(i, f32x4), h.load(i)});
     }},
    {"result of another type", "differ in type",
     [](Handmade& h) {
       const auto i = h.constant(i64);
       h.result(Opcode::sub, i32, {i, i});
     }},
    {"float operation on integers", "is not defined for i64",
     [](Handmade& h) { h.result(Opcode::sqrt, i64, {h.constant(i64)}); }},
    {"bit operation on floats", "is not defined for f32",
     [](Handmade& h) {
       const auto v = h.load(h.constant(i64));
       h.result(Opcode::bit_and, f32, {v, v});
     }},
    {"remainder of floats", "is not defined for f32",
     [](Handmade& h) {
       const auto v = h.load(h.constant(i64));
       h.result(Opcode::rem, f32, {v, v});
     }},
    {"arithmetic on booleans", "is not defined for bool",
     [](Handmade& h) {
       const auto v = h.constant(boolean, 1);
       h.result(Opcode::add, boolean, {v, v});
     }},
    {"comparison without boolean result", "is not boolean",
     [](Handmade& h) {
       const auto v = h.constant(i64);
       h.result(Opcode::lt, i64, {v, v});
     }},
    {"too few operands", "has 1 operands instead of 2",
     [](Handmade& h) { h.result(Opcode::add, i64, {h.constant(i64)}); }},
    {"missing result", "has no result", [](Handmade& h) { h.add(Opcode::neg, {h.constant(i64)}); }},
    {"needless result", "must have no result", [](Handmade& h) { h.result(Opcode::barrier, i64); }},
    {"operand that does not exist", "does not exist", [](Handmade& h) { h.result(Opcode::neg, i64, {77}); }},
    {"result without a type", "has no type", [](Handmade& h) { h.add(Opcode::constant).result = 9; }},
    {"use before definition", "used before its definition",
     [](Handmade& h) {
       const auto later = h.value(i64);
       h.result(Opcode::neg, i64, {later});
       h.add(Opcode::constant).result = later;
     }},
    {"definition that does not dominate", "outside the body that defines it",
     [](Handmade& h) {
       const auto c = h.constant(boolean), v = h.value(i64);
       auto& branch = h.add(Opcode::if_, {c});
       branch.regions.resize(1);
       h.add_to(branch.regions[0], Opcode::constant).result = v;
       h.result(Opcode::neg, i64, {v});
     }},
    {"counter used outside its loop", "outside the body that defines it",
     [](Handmade& h) {
       const auto n = h.constant(i64, 4), counter = h.value(i64);
       auto& loop = h.add(Opcode::for_, {n, n, n});
       loop.regions.resize(1);
       loop.regions[0].argument = counter;
       h.result(Opcode::neg, i64, {counter});
     }},
    {"double definition", "defined twice",
     [](Handmade& h) {
       const auto v = h.constant(i64);
       h.add(Opcode::constant).result = v;
     }},
    {"convert that changes lanes", "lanes of",
     [](Handmade& h) { h.result(Opcode::convert, f32x4, {h.constant(i64)}); }},
    {"bitcast between sizes", "element sizes differ",
     [](Handmade& h) { h.result(Opcode::bitcast, f32, {h.constant(i64)}); }},
    {"select on an integer", "condition is not boolean",
     [](Handmade& h) {
       const auto v = h.constant(i64);
       h.result(Opcode::select, i64, {v, v, v});
     }},
    {"select between types", "values and the result differ",
     [](Handmade& h) {
       const auto c = h.constant(boolean), v = h.constant(i64);
       h.result(Opcode::select, i64, {c, v, h.constant(i32)});
     }},
    {"exponent of another width", "takes (f32, i32) or (f64, i64)",
     [](Handmade& h) {
       const auto i = h.constant(i64);
       h.result(Opcode::scale_exponent, f32, {h.load(i), i});
     }},
    {"constant that does not fit", "does not fit the type",
     [](Handmade& h) {
       h.constant({Scalar::u8, 1}, 256);
     }},
    {"unknown builtin", "unknown builtin",
     [](Handmade& h) { h.result(Opcode::builtin, i32, {}, no_memory, 99); }},
    {"unknown parameter", "parameter does not exist",
     [](Handmade& h) { h.result(Opcode::parameter, f32, {}, no_memory, 1); }},
    {"parameter of another type", "parameter and result differ",
     [](Handmade& h) { h.result(Opcode::parameter, i64); }},
    {"length of a local array", "is for global buffers",
     [](Handmade& h) { h.result(Opcode::length, i64, {}, 2); }},
    {"unknown memory", "does not exist", [](Handmade& h) { h.load(h.constant(i64), f32, 5); }},
    {"write to a read-only buffer", "writes the read-only buffer 'x'",
     [](Handmade& h) {
       const auto i = h.constant(i64);
       h.store(i, h.load(i), 0);
     }},
    {"load of another type", "memory 'x' of f32", [](Handmade& h) { h.load(h.constant(i64), i64); }},
    {"float index", "index is not i32 or i64", [](Handmade& h) { h.load(h.load(h.constant(i64))); }},
    {"vector index of a load", "index is a vector",
     [](Handmade& h) {
       h.load(h.constant({Scalar::i64, 4}), f32x4);
     }},
    {"gather with another lane count", "as many indices as values",
     [](Handmade& h) {
       h.result(Opcode::gather, f32, {h.constant({Scalar::i64, 4})}, 0);
     }},
    {"mask of another lane count", "mask is bool instead of boolx4",
     [](Handmade& h) {
       h.result(Opcode::load, f32x4, {h.constant(i64), h.constant(boolean)}, 0);
     }},
    {"`other` of another type", "differ in type",
     [](Handmade& h) {
       const auto i = h.constant(i64), c = h.constant(boolean);
       h.result(Opcode::load, f32, {i, c, i}, 0);
     }},
    {"atomic on a local array", "global and shared memory only",
     [](Handmade& h) {
       const auto i = h.constant(i64);
       h.result(Opcode::atomic_add, f32, {i, h.load(i)}, 2);
     }},
    {"atomic on halves", "is not defined for f16",
     [](Handmade& h) {
       h.kernel.memories[1].scalar = Scalar::f16;
       const auto i = h.constant(i64);
       h.result(Opcode::atomic_add, {Scalar::f16, 1}, {i, h.constant({Scalar::f16, 1})}, 1);
     }},
    {"splat of a vector", "takes a scalar",
     [](Handmade& h) { h.result(Opcode::splat, f32x4, {h.load(h.constant(i64), f32x4)}); }},
    {"extract behind the last lane", "lane out of range",
     [](Handmade& h) { h.result(Opcode::extract, f32, {h.load(h.constant(i64), f32x4)}, no_memory, 4); }},
    {"insert of another type", "takes a vector and a scalar",
     [](Handmade& h) {
       const auto i = h.constant(i64);
       h.result(Opcode::insert, f32x4, {h.load(i, f32x4), i});
     }},
    {"shuffle without indices", "one index a result lane",
     [](Handmade& h) {
       const auto v = h.load(h.constant(i64), f32x4);
       h.result(Opcode::shuffle, f32x4, {v, v});
     }},
    {"reduction to another type", "gives a scalar",
     [](Handmade& h) { h.result(Opcode::reduce_add, i64, {h.load(h.constant(i64), f32x4)}); }},
    {"plane shuffle by i64", "lane is not i32",
     [](Handmade& h) {
       const auto i = h.constant(i64);
       h.result(Opcode::plane_shuffle, i64, {i, i});
     }},
    {"unknown matrix shape", "matrix shape does not exist",
     [](Handmade& h) {
       const auto v = h.load(h.constant(i64), f32x4);
       h.result(Opcode::matrix_multiply, f32x4, {v, v, v});
     }},
    {"condition that is no boolean", "is not one boolean",
     [](Handmade& h) { h.add(Opcode::if_, {h.constant(i64)}).regions.resize(1); }},
    {"if without a body", "needs one or two bodies",
     [](Handmade& h) { h.add(Opcode::if_, {h.constant(boolean)}); }},
    {"for without a counter", "needs a counter",
     [](Handmade& h) {
       const auto n = h.constant(i64);
       h.add(Opcode::for_, {n, n, n}).regions.resize(1);
     }},
    {"bounds of another type", "bounds and counter differ",
     [](Handmade& h) {
       const auto n = h.constant(i32), counter = h.value(i64);
       auto& loop = h.add(Opcode::for_, {n, n, n});
       loop.regions.resize(1);
       loop.regions[0].argument = counter;
     }},
    {"while that does not end in yield", "does not end in yield",
     [](Handmade& h) { h.add(Opcode::while_).regions.resize(2); }},
    {"yield anywhere else", "yield outside",
     [](Handmade& h) { h.add(Opcode::yield, {h.constant(boolean)}); }},
    {"body of an instruction without control flow", "must have no body",
     [](Handmade& h) { h.add(Opcode::barrier).regions.resize(1); }},
    {"global buffer behind an array", "stands behind an array",
     [](Handmade& h) {
       h.kernel.memories.push_back({Space::global, Scalar::f32, true, 0, 64, "z"});
     }},
    {"empty array", "has no elements", [](Handmade& h) { h.kernel.memories[2].length = 0; }},
    {"odd alignment", "no power of two", [](Handmade& h) { h.kernel.memories[0].alignment = 24; }},
    {"no units", "has no units",
     [](Handmade& h) {
       h.kernel.cube_dim = {4, 0, 1};
     }},
    {"value without lanes", "has no lanes",
     [](Handmade& h) {
       h.value({Scalar::f32, 0});
     }},
};

TEST(Verify, FindsEveryKindOfFault) {
  for (const auto& fault : faults) {
    Handmade h;
    fault.make(h);
    try {
      verify(h.kernel);
      ADD_FAILURE() << "accepted: " << fault.name;
    } catch (const CompileError& e) {
      const std::string what = e.what();
      EXPECT_NE(what.find("kernel 'broken': "), std::string::npos) << fault.name << ": " << what;
      EXPECT_NE(what.find(fault.message), std::string::npos) << fault.name << ": " << what;
    }
  }
}

TEST(Verify, AcceptsWellFormedKernels) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) EXPECT_NO_THROW(verify(test::random_kernel(seed)));
}

/// Records a kernel of 8 units around `body`; its error, or "" when it is accepted.
std::string barrier_error(const std::function<void(Buffer y, Val n)>& body) {
  Builder b("meeting", {8, 1, 1});
  auto y = b.read_write("y", Scalar::i32);
  const Val n = b.scalar("n", Scalar::i32);
  body(y, n);
  try {
    b.finish();
    return "";
  } catch (const CompileError& e) {
    return e.what();
  }
}

TEST(Verify, BarriersStandWhereAllUnitsComeBy) {
  EXPECT_EQ(barrier_error([](Buffer, Val n) { if_(n > 0, [] { barrier(); }); }), "");
  EXPECT_EQ(barrier_error([](Buffer, Val n) { for_(0, n, 1, [](Val) { barrier(); }); }), "");
  EXPECT_EQ(barrier_error([](Buffer y, Val) { if_(y.load(0) > 0, [] { barrier(); }); }), "");
  EXPECT_EQ(barrier_error([](Buffer, Val n) {
              if_(n == 0, [] { return_(); });
              barrier();
            }),
            "");
  EXPECT_EQ(barrier_error([](Buffer, Val n) {
              const Var left(n);
              while_([&] { return left.get() > 0; },
                     [&] {
                       left -= 1;
                       barrier();
                     });
            }),
            "");
}

TEST(Verify, BarriersInDivergentControlFlowAreFaults) {
  const auto divergent = [](const std::function<void(Buffer, Val)>& body) {
    const auto e = barrier_error(body);
    return e.find("'meeting'") != std::string::npos &&
           e.find("differs between the units") != std::string::npos;
  };
  EXPECT_TRUE(divergent([](Buffer, Val) { if_(unit_x() < 3, [] { barrier(); }); }));
  EXPECT_TRUE(divergent([](Buffer, Val) { for_(0, unit_x(), 1, [](Val) { barrier(); }); }));
  EXPECT_TRUE(divergent([](Buffer y, Val) { if_(y.load(unit_x()) > 0, [] { barrier(); }); }));
  // through a variable, and through a store under divergent control
  EXPECT_TRUE(divergent([](Buffer, Val) {
    const Var v(unit_x());
    if_(v.get() > 0, [] { barrier(); });
  }));
  EXPECT_TRUE(divergent([](Buffer, Val n) {
    const Var v(n);
    if_(unit_x() > 3, [&] { v = 1; });
    if_(v.get() > 0, [] { barrier(); });
  }));
  // the store comes after the test, but before it in the next iteration
  EXPECT_TRUE(divergent([](Buffer, Val n) {
    const Var v(n);
    for_(0, 4, 1, [&](Val) {
      if_(v.get() > 0, [] { barrier(); });
      v += unit_x();
    });
  }));
}

TEST(Verify, BarriersBehindADivergentReturnAreFaults) {
  const auto late = [](const std::function<void(Buffer, Val)>& body) {
    return barrier_error(body).find("after some units of the cube returned") != std::string::npos;
  };
  EXPECT_TRUE(late([](Buffer, Val) {
    if_(unit_x() > 3, [] { return_(); });
    barrier();
  }));
  EXPECT_TRUE(late([](Buffer, Val n) {
    for_(0, n, 1, [](Val) {
      barrier();
      if_(unit_x() > 3, [] { return_(); });
    });
  }));
}

}  // namespace
}  // namespace strata::kernel
