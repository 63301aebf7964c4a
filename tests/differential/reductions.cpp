#include "tests/differential/registry.h"

namespace differential {
namespace {

void over_axes(Registry& r, const char* name, Tensor (*f)(Arg, const Axes&, Keep)) {
  r[name] = [f](const Tensors& x, const Attributes& a) { return Tensors{f(x[0], dims(a, "axes"), keep(a))}; };
}
int at(const Attributes& a) { return static_cast<int>(whole(a, "axis", -1)); }
Order order(const Attributes& a) { return flag(a, "descending") ? Order::Descending : Order::Ascending; }

}  // namespace

void add_reductions(Registry& r) {
  for (const auto& [name, f] :
       std::initializer_list<std::pair<const char*, Tensor (*)(Arg, const Axes&, Keep)>>{{"sum", sum},
                                                                                         {"prod", prod},
                                                                                         {"mean", mean},
                                                                                         {"max", max},
                                                                                         {"min", min},
                                                                                         {"any", any},
                                                                                         {"all", all},
                                                                                         {"count_nonzero", count_nonzero},
                                                                                         {"logsumexp", logsumexp}})
    over_axes(r, name, f);
  r["argmax"] = [](const Tensors& x, const Attributes& a) { return Tensors{argmax(x[0], axis(a), keep(a))}; };
  r["argmin"] = [](const Tensors& x, const Attributes& a) { return Tensors{argmin(x[0], axis(a), keep(a))}; };
  r["var"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{var(x[0], dims(a, "axes"), {.correction = real(a, "correction", 1), .keep = keep(a)})};
  };
  r["stddev"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{stddev(x[0], dims(a, "axes"), {.correction = real(a, "correction", 1), .keep = keep(a)})};
  };
  r["norm"] = [](const Tensors& x, const Attributes& a) { return Tensors{norm(x[0], real(a, "p", 2), dims(a, "axes"), keep(a))}; };
  r["cumsum"] = [](const Tensors& x, const Attributes& a) { return Tensors{cumsum(x[0], at(a))}; };
  r["cumprod"] = [](const Tensors& x, const Attributes& a) { return Tensors{cumprod(x[0], at(a))}; };
  r["cummax"] = [](const Tensors& x, const Attributes& a) { return Tensors{cummax(x[0], at(a))}; };
  r["cummin"] = [](const Tensors& x, const Attributes& a) { return Tensors{cummin(x[0], at(a))}; };
  r["logcumsumexp"] = [](const Tensors& x, const Attributes& a) { return Tensors{logcumsumexp(x[0], at(a))}; };
  r["softmax"] = [](const Tensors& x, const Attributes& a) { return Tensors{softmax(x[0], at(a))}; };
  r["log_softmax"] = [](const Tensors& x, const Attributes& a) { return Tensors{log_softmax(x[0], at(a))}; };
  r["softmin"] = [](const Tensors& x, const Attributes& a) { return Tensors{softmin(x[0], at(a))}; };
  r["sort"] = [](const Tensors& x, const Attributes& a) {
    const Sorted y = sort(x[0], at(a), order(a));
    return Tensors{y.values, y.indices};
  };
  r["argsort"] = [](const Tensors& x, const Attributes& a) { return Tensors{argsort(x[0], at(a), order(a))}; };
  r["topk"] = [](const Tensors& x, const Attributes& a) { return Tensors{topk(x[0], whole(a, "k", 1), at(a), order(a)).values}; };
  r["kthvalue"] = [](const Tensors& x, const Attributes& a) { return Tensors{kthvalue(x[0], whole(a, "k", 1), at(a)).values}; };
  r["median"] = [](const Tensors& x, const Attributes& a) { return Tensors{median(x[0], at(a), keep(a))}; };
  r["searchsorted"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{searchsorted(x[0], x[1], flag(a, "right") ? Side::Right : Side::Left)};
  };
  r["bucketize"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{bucketize(x[0], x[1], flag(a, "right") ? Side::Right : Side::Left)};
  };
  r["quantile"] = [](const Tensors& x, const Attributes& a) {
    const std::string method = a.at("method").get<std::string>();
    const QuantileOptions options{.method = method == "lower"      ? QuantileMethod::Lower
                                            : method == "higher"   ? QuantileMethod::Higher
                                            : method == "midpoint" ? QuantileMethod::Midpoint
                                            : method == "nearest"  ? QuantileMethod::Nearest
                                                                   : QuantileMethod::Linear,
                                  .keep = keep(a)};
    if (a.at("q").is_number()) return Tensors{quantile(x[0], a.at("q").get<double>(), axis(a), options)};
    return Tensors{quantile(x[0], a.at("q").get<std::vector<double>>(), axis(a), options)};
  };
  r["bincount"] = [](const Tensors& x, const Attributes& a) {
    return Tensors{x.size() > 1 ? bincount(x[0], whole(a, "length", 0), x[1]) : bincount(x[0], whole(a, "length", 0))};
  };
}

}  // namespace differential
