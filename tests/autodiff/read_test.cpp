// Reads of several values together.
#include <gtest/gtest.h>

#include "autodiff/autodiff.hpp"
#include "autodiff/reference_backend.hpp"

namespace strata::autodiff {
namespace {

using Log = std::vector<std::string>;

/// Writes down what it is asked for.
class Observed final : public testing::ReferenceBackend {
 public:
  Observed(std::string name, Log& log) : name_(std::move(name)), log_(log) {}
  Future<TensorData> into_data(const ValueRef& value) override {
    log_.push_back("ask " + name_);
    return ReferenceBackend::into_data(value);
  }
  TensorData read(const ValueRef& value) override {
    log_.push_back("wait for " + name_);
    return ReferenceBackend::read(value);
  }
  std::vector<TensorData> read_all(backend::Inputs values) override {
    log_.push_back("wait for all of " + name_);
    return ReferenceBackend::read_all(values);
  }
  ValueRef number(double value) { return from_data(TensorData::from({value}, {1})); }

 private:
  std::string name_;
  Log& log_;
};

std::vector<double> numbers(const std::vector<TensorData>& parts) {
  std::vector<double> values;
  for (const auto& part : parts) values.push_back(part.to_doubles().at(0));
  return values;
}

TEST(ReadAll, EveryBackendIsAskedBeforeOneIsWaitedFor) {
  Log log;
  Observed a("a", log), b("b", log);
  const std::vector<ValueRef> values{a.number(1), b.number(2), a.number(3)};
  EXPECT_EQ(numbers(backend::read_all(values)), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(log, (Log{"ask a", "ask a", "ask b"}));
}

TEST(ReadAll, OneBackendMayWaitItsOwnWay) {
  Log log;
  Observed a("a", log);
  Autodiff over(a);
  Autodiff twice(static_cast<backend::Backend&>(over));
  const std::vector<ValueRef> values{twice.lift(over.lift(a.number(1))), twice.lift(over.lift(a.number(2)))};
  EXPECT_EQ(numbers(backend::read_all(values)), (std::vector<double>{1, 2}));
  EXPECT_EQ(log, (Log{"wait for all of a", "ask a", "ask a"}));
}

}  // namespace
}  // namespace strata::autodiff
