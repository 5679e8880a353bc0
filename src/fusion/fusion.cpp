#include "fusion/fusion.hpp"

#include <algorithm>
#include <atomic>

#include "bridge/expand.hpp"
#include "trace/span.hpp"

namespace strata::fusion {
namespace {

/// Operations of one thread run in the order of its calls; each thread is a stream.
std::uint32_t this_stream() {
  static std::atomic<std::uint32_t> next{0};
  thread_local const std::uint32_t id = next.fetch_add(1, std::memory_order_relaxed);
  return id;
}

}  // namespace

Fusion::Fusion(cube::CubeBackend& inner, std::string thread_name, bool fuse)
    : inner_(inner),
      name_("fusion<" + std::string(inner.name()) + ">"),
      upstream_(inner, fuse),
      executor_(std::move(thread_name)) {}

backend::Values Fusion::execute(const op::Operation& op, backend::Inputs inputs) {
  trace::Span span("fusion", "execute");
  if (span.recording()) span.field("op", op::name_of(op));
  const auto types = backend::infer(op, inputs, name_);
  if (inner_.expands(op, inputs)) return backend::Values(bridge::expand(op, inputs));
  const FusionRef v(new FusionValue(*this, types[0], op, inputs));
  v->stream = this_stream();
  backend::Values results(v);
  for (std::size_t i = 1; i < types.size(); ++i) {
    const FusionRef other(new FusionValue(*this, types[i], op, {}));
    other->stream = v->stream;
    v->siblings.push_back(other);
    results.push_back(other);
  }
  executor_.post_quiet([this, v] { upstream_.accept(v); });
  if (executor_.pending() >= wake_after) executor_.wake();
  return results;
}

backend::ValueRef Fusion::from_data(const TensorData& data) {
  trace::Span span("fusion", "from_data");
  const FusionRef v(new FusionValue(*this, {data.dtype(), data.shape()}, op::Fill{}, {}));
  v->stream = this_stream();
  executor_.post_quiet([this, v, data] { upstream_.upload(v, data); });
  // Copying a large tensor takes longer than a wake-up: let it go on beside the caller.
  if (data.byte_size() >= eager_upload_bytes) executor_.wake();
  return v;
}

/// Waits until the other device has made the value, as a hop over the host would.
backend::ValueRef Fusion::from_peer(const backend::ValueRef& value) {
  auto* home = dynamic_cast<Fusion*>(&value->backend);
  if (!home || value->shape.product() == 0 || !inner_.client().reaches(home->inner_.client())) return {};
  Promise<runtime::Lent> promise;
  auto future = promise.future();
  FusionRef source(static_cast<FusionValue*>(value.get()));
  home->executor_.post_quiet([home, source = std::move(source), p = std::move(promise)]() mutable {
    home->upstream_.lend(source, std::move(p));
  });
  const auto lent = home->wait(std::move(future));
  const FusionRef v(new FusionValue(*this, {value->dtype, value->shape}, op::Fill{}, {}));
  v->stream = this_stream();
  executor_.post([this, v, lent] { upstream_.receive(v, lent); });
  return v;
}

Future<TensorData> Fusion::request(const backend::ValueRef& value) {
  trace::Span span("fusion", "into_data");
  Promise<TensorData> promise;
  auto future = promise.future();
  FusionRef v(static_cast<FusionValue*>(value.get()));
  executor_.post_quiet([this, request = Upstream::Read{std::move(v), std::move(promise)}]() mutable {
    upstream_.read({&request, 1});
  });
  return future;
}

std::vector<Future<TensorData>> Fusion::request_all(backend::Inputs values) {
  trace::Span span("fusion", "into_data");
  std::vector<Upstream::Read> requests;
  std::vector<Future<TensorData>> futures;
  for (const auto& value : values) {
    requests.push_back({FusionRef(static_cast<FusionValue*>(value.get())), {}});
    futures.push_back(requests.back().result.future());
  }
  executor_.post_quiet([this, requests = std::move(requests)]() mutable { upstream_.read(requests); });
  return futures;
}

Future<TensorData> Fusion::into_data(const backend::ValueRef& value) {
  auto future = request(value);
  executor_.wake();
  return future;
}

std::vector<Future<TensorData>> Fusion::into_data_all(backend::Inputs values) {
  auto futures = request_all(values);
  executor_.wake();
  return futures;
}

void Fusion::help(const std::function<bool()>& done) {
  executor_.help(done);
  if (executor_.pending() > 0) executor_.wake();
  inner_.client().help(done);
}

template <class T>
T Fusion::wait(Future<T> future) {
  help([&future] { return future.ready(); });
  return future.get();
}

TensorData Fusion::read(const backend::ValueRef& value) { return wait(request(value)); }

std::vector<TensorData> Fusion::read_all(backend::Inputs values) {
  auto futures = request_all(values);
  help([&] { return std::ranges::all_of(futures, [](const auto& future) { return future.ready(); }); });
  return backend::get_all(std::move(futures));
}

void Fusion::sync() {
  Promise<void> promise;
  auto future = promise.future();
  executor_.post_quiet(
      [this, id = this_stream(), p = std::move(promise)]() mutable { upstream_.sync(id, std::move(p)); });
  wait(std::move(future));
}

}  // namespace strata::fusion
