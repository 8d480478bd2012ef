#pragma once

#include <array>

namespace paceline::buckets {

// Bucket sets of API.md §9, upper bounds; seconds unless the name says otherwise.

inline constexpr std::array kTtft{.001, .0025, .005, .01, .02, .04, .06, .08, .1,  .15, .25,
                                  .5,   .75,   1.,   2.5, 5.,  7.5, 10., 20., 40., 80., 160.};
inline constexpr std::array kItl{.001, .002, .003, .004, .005, .006, .008, .01, .0125,
                                 .015, .02,  .025, .03,  .04,  .05,  .075, .1,  .15,
                                 .2,   .3,   .5,   .75,  1.,   2.5,  5.,   10.};
inline constexpr std::array kE2e{.01, .05, .1,  .2,  .3,  .5,  .8,  1.,   1.5,  2.,   2.5,
                                 5.,  10., 15., 20., 30., 40., 60., 120., 240., 480., 960.};
inline constexpr std::array kTokens{1.,   2.,    5.,    10.,   20.,    50.,    100.,  200.,
                                    500., 1000., 2000., 5000., 10000., 20000., 50000.};
inline constexpr std::array kStep{.0005, .001, .002, .003, .005, .0075, .01, .015,
                                  .02,   .03,  .05,  .075, .1,   .2,    .5,  1.};
inline constexpr std::array kTenant{.005, .01, .02, .05, .1, .25, 1., 2.5, 10., 60.};
/// Choices per request.
inline constexpr std::array kChoices{1., 2., 5., 10., 20.};
/// Tokens in one step.
inline constexpr std::array kIterationTokens{1.,  2.,   4.,   8.,   16.,   32.,
                                             64., 128., 256., 512., 1024., 2048.};
/// Sequences in one step.
inline constexpr std::array kSequences{1., 2., 4., 8., 16., 32., 64., 128.};
inline constexpr std::array kTokenize{.0001, .001, .01, .1, 1.};
inline constexpr std::array kWsConnection{.5,  1.,   2.5,  5.,   10.,   30.,
                                          60., 120., 300., 600., 1800., 3600.};

}  // namespace paceline::buckets
