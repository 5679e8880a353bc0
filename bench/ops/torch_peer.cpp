#include "torch_peer.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <thread>

namespace strata::bench {

std::map<std::string, std::function<void()>> torch_ops(std::int64_t rows, std::int64_t columns) {
  torch::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  const auto x = torch::rand({rows, columns}) + 0.5, y = torch::rand({rows, columns}) + 0.5;
  const auto row = torch::rand({columns}), column = torch::rand({rows, 1}), flags = x > 1;
  const auto whole = torch::arange(rows * columns).reshape({rows, columns});
  const auto index = torch::randint(columns, {rows, columns}), picks = torch::randint(rows, {rows});
  const auto half = x.to(torch::kBFloat16);
  const auto weight = torch::rand({columns}), bias = torch::rand({columns});
  const auto image = x.reshape({1, rows >= 16 ? 16 : 1, rows >= 16 ? rows / 16 : rows, columns});
  const auto channels = image.size(1);
  const auto filter = torch::rand({channels, channels, 3, 3});
  const auto count = std::min<std::int64_t>(rows, 2048), heads = std::clamp<std::int64_t>(columns / 64, 1, 2),
             width = std::min<std::int64_t>(columns, 64);
  const auto tokens = [=](const torch::Tensor& all) {
    return all.slice(0, 0, count)
        .slice(1, 0, heads * width)
        .reshape({1, count, heads, width})
        .permute({0, 2, 1, 3});
  };
  const auto q = tokens(x), k = tokens(y), v = tokens(torch::rand({rows, columns})),
             g = tokens(torch::rand({rows, columns}));
  const auto attend = [](const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& c,
                         bool causal) {
    return std::get<0>(torch::_scaled_dot_product_attention(a, b, c, {}, 0, false, causal));
  };
  const auto attend_and_back = [=] {
    const auto a = q.detach().requires_grad_(), b = k.detach().requires_grad_(),
               c = v.detach().requires_grad_();
    torch::autograd::grad({attend(a, b, c, false)}, {a, b, c}, {g});
  };
  const auto classes = torch::randint(columns, {rows});
  const auto loss_and_back = [=] {
    const auto scores = x.detach().requires_grad_();
    torch::autograd::grad({torch::cross_entropy_loss(scores, classes, {}, at::Reduction::Sum)}, {scores});
  };
  namespace F = torch::nn::functional;
  return {
      {"add", [=] { torch::add(x, y); }},
      {"div", [=] { torch::div(x, y); }},
      {"add a row", [=] { torch::add(x, row); }},
      {"add a column", [=] { torch::add(x, column); }},
      {"pow", [=] { torch::pow(x, y); }},
      {"max of two", [=] { torch::maximum(x, y); }},
      {"neg", [=] { torch::neg(x); }},
      {"sqrt", [=] { torch::sqrt(x); }},
      {"exp", [=] { torch::exp(x); }},
      {"log", [=] { torch::log(x); }},
      {"sin", [=] { torch::sin(x); }},
      {"tanh", [=] { torch::tanh(x); }},
      {"sigmoid", [=] { torch::sigmoid(x); }},
      {"erf", [=] { torch::erf(x); }},
      {"less", [=] { torch::lt(x, y); }},
      {"where", [=] { torch::where(flags, x, y); }},
      {"cast to bf16", [=] { x.to(torch::kBFloat16); }},
      {"cast bf16 to f32", [=] { half.to(torch::kFloat); }},
      {"cast to i64", [=] { x.to(torch::kLong); }},
      {"cast i64 to f32", [=] { whole.to(torch::kFloat); }},
      {"add in bf16", [=] { torch::add(half, half); }},
      {"copy of transpose", [=] { x.t().contiguous(); }},
      {"cat rows",
       [=] {
         torch::cat({x, y}, 0);
       }},
      {"cat columns",
       [=] {
         torch::cat({x, y}, 1);
       }},
      {"sum all", [=] { x.sum(); }},
      {"sum last", [=] { x.sum(1); }},
      {"sum first", [=] { x.sum(0); }},
      {"prod last", [=] { x.prod(1); }},
      {"max last", [=] { x.amax(1); }},
      {"max first", [=] { x.amax(0); }},
      {"argmax last", [=] { x.argmax(1); }},
      {"argmax first", [=] { x.argmax(0); }},
      {"cumsum last", [=] { x.cumsum(1); }},
      {"cumsum first", [=] { x.cumsum(0); }},
      {"softmax last", [=] { torch::softmax(x, 1); }},
      {"softmax first", [=] { torch::softmax(x, 0); }},
      {"log_softmax last", [=] { torch::log_softmax(x, 1); }},
      {"layer_norm", [=] { torch::layer_norm(x, {columns}, weight, bias); }},
      {"attention", [=] { attend(q, k, v, false); }},
      {"attention, causal", [=] { attend(q, k, v, true); }},
      {"attention and gradient", attend_and_back},
      {"cross entropy", [=] { torch::cross_entropy_loss(x, classes, {}, at::Reduction::None); }},
      {"cross entropy and gradient", loss_and_back},
      {"sort last", [=] { torch::sort(x, /*stable=*/true, 1, false); }},
      {"topk 8 last", [=] { torch::topk(x, 8, 1); }},
      {"gather last", [=] { torch::gather(x, 1, index); }},
      {"select rows", [=] { torch::index_select(x, 0, picks); }},
      {"scatter_add last", [=] { torch::scatter_add(x, 1, index, y); }},
      {"chain of 8", [=] { (((x + y) * x - y).exp() * y + x).tanh() * y; }},
      {"random uniform",
       [=] {
         torch::rand({rows, columns});
       }},
      {"conv 3x3", [=] { torch::conv2d(image, filter, {}, 1, 1); }},
      {"max_pool 2x2", [=] { torch::max_pool2d(image, 2); }},
      {"mean_pool 2x2", [=] { torch::avg_pool2d(image, 2); }},
  };
}

}  // namespace strata::bench
