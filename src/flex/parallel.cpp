#include "flex/parallel.hpp"

#include <algorithm>

#include <pthread.h>

// libgomp's stable entry points, declared here so that any compiler can use the very pool that oneDNN runs
// on.
extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_max_threads();
int omp_get_num_threads();
int omp_get_thread_num();
int omp_in_parallel();
int omp_pause_resource_all(int kind);
}

namespace strata::flex {
namespace detail {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool threads = false;  // the sanitizer cannot see libgomp's synchronisation
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool threads = false;
#else
constexpr bool threads = true;
#endif
#else
constexpr bool threads = true;
#endif

struct Job {
  std::int64_t count, grain;
  RangeFunction function;
  void* context;
};

void run_share(void* data) {
  const auto& job = *static_cast<const Job*>(data);
  const std::int64_t workers = omp_get_num_threads(), worker = omp_get_thread_num();
  const std::int64_t grains = (job.count + job.grain - 1) / job.grain;
  const auto begin = grains * worker / workers * job.grain;
  const auto end = std::min(grains * (worker + 1) / workers * job.grain, job.count);
  if (begin < end) job.function(job.context, begin, end);
}

}  // namespace

void run_ranges(std::int64_t count, std::int64_t grain, RangeFunction function, void* context) noexcept {
  const auto grains = (count + grain - 1) / grain;
  const auto workers =
      threads && !omp_in_parallel() ? std::min<std::int64_t>(grains, omp_get_max_threads()) : 1;
  if (workers <= 1) return function(context, 0, count);
  Job job{count, grain, function, context};
  GOMP_parallel(run_share, &job, static_cast<unsigned>(workers), 0);
}

}  // namespace detail

void end_threads_before_forks() noexcept {
  constexpr int hard = 2;  // omp_pause_hard, OpenMP 5.0
  static const int registered = pthread_atfork([] { omp_pause_resource_all(hard); }, nullptr, nullptr);
  static_cast<void>(registered);  // fails only for want of memory
}

}  // namespace strata::flex
