/// Coefficients of special functions, for the devices that compute them themselves; lowest degree first. The
/// polynomials were fitted by kernel/fit_math.py, the series are the classical asymptotic ones.
#pragma once

#include <array>

namespace strata::base {

/// erfc(x) = exp(-x^2) P(u) / (1 + 2 x) for x >= 0 with u = (x - c) / (x + c), c = `erfc_centre` (the form of
/// Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x", Math. Comp. 36, 1981).
/// Relative error 2^-26.1 for f32 up to x = 10.2, 2^-56.3 for f64 up to x = 27.5: beyond, erfc is 0.
template <class T>
inline constexpr double erfc_centre = sizeof(T) == 4 ? 2 : 4;
inline constexpr std::array erfc_f32{1.2769783735275269,    -0.0927639827132225,   -0.16603146493434906,
                                     0.16405542194843292,   -0.054203882813453674, -0.008060147054493427,
                                     0.008630090393126011,  0.0013133133761584759, -0.0012279931688681245,
                                     -0.0003994461440015584};
inline constexpr std::array erfc_f64{
    1.2329951186255526,     -0.13962111684056286,    0.015379652102620035,   0.06809705425473445,
    -0.10103906603631732,   0.0937328349968878,      -0.06633036581218568,   0.03716751556104427,
    -0.016197734052948044,  0.0050319697684693444,   -0.0007577733737513272, -0.00019925557363886058,
    0.00015062234206300045, -2.4402952391073362e-05, -1.122495469135066e-05, 5.7174437562239805e-06,
    3.014723699816619e-07,  -8.346179075906793e-07,  6.274081030883924e-08,  1.149881120064409e-07,
    -7.8219298521681e-09,   -1.3573219910980362e-08, -1.7763084655001528e-09};

/// erf(x) = x + x P(x^2) for |x| < 1.
inline constexpr std::array erf_f32{0.12837916612625122,   -0.3761262595653534,  0.11283600330352783,
                                    -0.026854444295167923, 0.005189535208046436, -0.0008020838722586632,
                                    7.889110565884039e-05};
inline constexpr std::array erf_f64{0.1283791670955126,     -0.3761263890318375,     0.11283791670954885,
                                    -0.02686617064507787,   0.005223977624828389,    -0.0008548326981423463,
                                    0.00012055331132892126, -1.4925595770909825e-05, 1.6461008460771013e-06,
                                    -1.635039606926364e-07, 1.466032781931662e-08,   -1.137495257919263e-09,
                                    5.960680339728099e-11};

/// erfinv(x) = x P(w - 2.5) for w = -log(1 - x^2) < 5, else x Q(sqrt(w) - 3) (the form of Giles,
/// "Approximating the erfinv function", GPU Computing Gems, 2010). Relative error of the centre 2^-27.4; of
/// the tail 2^-21.9 up to the largest f32 below 1, and 2^-19.8 up to the largest f64, where it starts an
/// iteration.
inline constexpr std::array erfinv_centre{
    1.5014094114303589,     0.24664027988910675,     -0.004177386872470379,   -0.0012527419021353126,
    0.00021834444487467408, -4.9633486014499795e-06, -3.4627062177605694e-06, 4.661707180275698e-07,
    2.3232757939695148e-08, -8.791050554179947e-09};
inline constexpr std::array erfinv_tail_f32{
    2.832977533340454,    1.0016783475875854,     0.009420054964721203,  -0.0076827178709208965,
    0.005855964031070471, -0.0034761608112603426, 0.0010893348371610045, -7.950313010951504e-05};
inline constexpr std::array erfinv_tail_f64{
    2.832976818084717,     1.0016971826553345,      0.009447852149605751,
    -0.007814615033566952, 0.00576217845082283,     -0.0032261533197015524,
    0.0011419964721426368, -0.00022150661970954388, 1.7823685993789695e-05};

/// log gamma(x) = (x - 1/2) log x - x + log(2 pi) / 2 + S(1 / x^2) / x, S's terms B_2k / (2k (2k - 1)): the
/// error for x >= 8 is below 1e-16 (Abramowitz and Stegun 6.1.40).
inline constexpr std::array stirling{1. / 12,   -1. / 360,      1. / 1260, -1. / 1680,
                                     1. / 1188, -691. / 360360, 1. / 156,  -3617. / 122400};
/// digamma(x) = log x - 1 / (2 x) - z D(z), z = 1 / x^2, D's terms B_2k / 2k: the error for x >= 8 is below
/// 2e-16 (Abramowitz and Stegun 6.3.18).
inline constexpr std::array digamma_series{1. / 12,  -1. / 120,     1. / 252, -1. / 240,
                                           1. / 132, -691. / 32760, 1. / 12,  -3617. / 8160};
/// Smaller arguments are raised to this or more by the recurrences.
inline constexpr int asymptotic_from = 8;

}  // namespace strata::base
