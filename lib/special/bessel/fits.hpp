// Polynomials of special/bessel/vectors.hpp: made by test/special/make_bessel_fits.py.
#pragma once

namespace reel::kernels::math {

// The zeros of the functions: each is the sum of its double and of `_lost`, the rounding error of that double.
inline constexpr double j0_first_zero = 0x1.33d152e971b40p+1, j0_first_zero_lost = -0x1.0f539d7da258ep-53;
inline constexpr double j0_second_zero = 0x1.6148f5b2c2e45p+2, j0_second_zero_lost = 0x1.75054cd60a517p-54;
inline constexpr double j1_first_zero = 0x1.ea75575af6f09p+1, j1_first_zero_lost = -0x1.60155a9d1b256p-53;
inline constexpr double j1_second_zero = 0x1.c0ff5f3b47250p+2, j1_second_zero_lost = -0x1.b226d9d243827p-54;
inline constexpr double y0_first_zero = 0x1.fa9534d98569cp+1, y0_first_zero_lost = -0x1.f06ae7804384ep-54;
inline constexpr double y1_first_zero = 0x1.193bed4dff243p+1, y1_first_zero_lost = -0x1.bd1e50d219bfdp-55;
inline constexpr double y1_second_zero = 0x1.5b7fe4e87b02ep+2, y1_second_zero_lost = 0x1.dfe7bac228e8cp-52;

// The polynomials of a result that is rounded to T. All are evaluated in double.
template <class T>
struct BesselFits;

template <>
struct BesselFits<double> {  // relative errors of about 2^-57
  // I_0(x) / (x / 2)^0 = 1 + z f(z), z = x^2 / 4, x < 8
  static constexpr double i0_near[] = {
      0x1.0000000000000p+0,  0x1.0000000000000p-2,  0x1.c71c71c71c717p-6,  0x1.c71c71c71c7c3p-10,
      0x1.23456789ab166p-14, 0x1.02e85c08a7f89p-19, 0x1.522a43f4aab65p-25, 0x1.522a441660ea2p-31,
      0x1.0b3130d183400p-37, 0x1.5601aab2bcc4ap-44, 0x1.69c8a6c48e294p-51, 0x1.41aca51ca8b9fp-58,
      0x1.e5e14d420fc73p-66, 0x1.44f94a88ae2b7p-73, 0x1.394d28af89798p-81, 0x1.1936bca529c16p-88};

  // I_0(x) sqrt(x) exp(-x) = f(t), t = 16 / x - 1, x > 8
  static constexpr double i0_far[] = {
      0x1.9bd428ad249a5p-2,   0x1.b87969bb93b86p-9,  0x1.1daa72b5e2bd7p-13,  0x1.75e5ee7193c9bp-17,
      0x1.8e513a708989ep-20,  0x1.3f49a7d62b2a7p-22, 0x1.7d0f1670e44e2p-24,  0x1.51ce71adfb8dcp-25,
      0x1.7232c4c122295p-26,  0x1.0393c5c549066p-27, -0x1.cfb20ddb53edep-28, -0x1.ccba1604bc157p-27,
      -0x1.7369bf37c026dp-28, 0x1.03813921d363bp-27, 0x1.fe9e1dd494c83p-28,  -0x1.e1db3b1fc3ea4p-29,
      -0x1.99204d1a8bb30p-28, 0x1.a1d63d6d8235fp-30, 0x1.f3ff264907758p-29,  -0x1.3a3b59d669595p-31,
      -0x1.bd05a336c6a58p-30, 0x1.4ffe43b34b0cap-33, 0x1.f741903e631b4p-32,  -0x1.646da6611912bp-36,
      -0x1.0adb754ca8b1dp-34};

  // I_1(x) / (x / 2)^1 = 1 + z f(z), z = x^2 / 4, x < 8
  static constexpr double i1_near[] = {0x1.0000000000000p-1,  0x1.5555555555554p-4,  0x1.c71c71c71c75ep-8,
                                       0x1.6c16c16c1649bp-12, 0x1.845c8a0cf3768p-17, 0x1.27e4fb767f765p-22,
                                       0x1.522a440f78adep-28, 0x1.2c97573b27191p-34, 0x1.ab82105b9802fp-41,
                                       0x1.f1741e72771cfp-48, 0x1.e2813142e930bp-55, 0x1.8ad0a1bd72b7cp-62,
                                       0x1.1c3913e8bba87p-69, 0x1.263a0e2f913b4p-77, 0x1.18cbb1218b226p-84};

  // I_1(x) sqrt(x) exp(-x) = f(t), t = 16 / x - 1, x > 8
  static constexpr double i1_far[] = {
      0x1.8ebe783a84030p-2,   -0x1.3f796198ee62dp-7,  -0x1.cbc54df1e92e0p-13, -0x1.f89c230615615p-17,
      -0x1.ec8e106de0a2fp-20, -0x1.76137f7ae6917p-22, -0x1.ad8d53e613985p-24, -0x1.727a1058f659fp-25,
      -0x1.918f9f9793789p-26, -0x1.21936a1ea1c23p-27, 0x1.cec9f53b94527p-28,  0x1.e236784650fb0p-27,
      0x1.9a8f6afc3dd3dp-28,  -0x1.069735b018307p-27, -0x1.0f0aac74a7f0dp-27, 0x1.d6e5e5ac6b3a2p-29,
      0x1.acff7707fcc47p-28,  -0x1.8b794674af086p-30, -0x1.04c48e6f24f30p-28, 0x1.23214d692a95ep-31,
      0x1.cf243016f9c30p-30,  -0x1.341e6ffaf59f6p-33, -0x1.059e6bcc892fep-31, 0x1.45b8aea87b94bp-36,
      0x1.1556db352e8eap-34};

  // K_0(x) + log(x) I_0(x) = f(x^2), x < 1
  static constexpr double k0_near[] = {0x1.dadb014541eb2p-4,  0x1.1dadb014541edp-2,  0x1.9dadb01453f6ep-6,
                                       0x1.bb90e85e13c4cp-11, 0x1.f474766fbb30ep-17, 0x1.5d6b288467837p-23,
                                       0x1.4c1f240dddcafp-30, 0x1.d18d9ed13d0b1p-38};

  // (K_1(x) - log(x) I_1(x) - 1 / x) / x = f(x^2), x < 1
  static constexpr double k1_near[] = {-0x1.3b5b6028a83d6p-2,  -0x1.5dadb014541ecp-4,  -0x1.303ae729ff27ep-8,
                                       -0x1.d802af7a6fc0cp-14, -0x1.a2918212c418cp-20, -0x1.e212b2dc0eadfp-27,
                                       -0x1.86258b263d5c4p-34, -0x1.db68a108d714bp-42};

  // K_0(x) sqrt(x) exp(x) = f(t), t = (x - 3) / (x + 1), x > 1
  static constexpr double k0_far[] = {
      0x1.356417a9f2ee9p+0,   0x1.a932e00d7033ap-5,  -0x1.287ae72aabd08p-7,  0x1.334777d998e60p-9,
      -0x1.2d4432423b739p-11, 0x1.55615cf644d2bp-13, -0x1.6d1e88bff07d6p-15, 0x1.b49009b2b01b0p-17,
      -0x1.e1ff1fc1c5ea1p-19, 0x1.2dfa9d22b9ed0p-20, -0x1.4cec14e763896p-22, 0x1.bab86da126c1bp-24,
      -0x1.d368256c16c33p-26, 0x1.5b419a5c0bb16p-27, -0x1.34b8c29a97805p-29, 0x1.02abd08a7b43cp-30,
      -0x1.19d1898a130d8p-32, 0x1.1617abcc970bdp-32, 0x1.70ae82743e79ep-34,  -0x1.d5dffdd4607d8p-35,
      -0x1.850a13cca60c4p-35, 0x1.bdee2a448419dp-36, 0x1.f996ef32137cfp-37};

  // K_1(x) sqrt(x) exp(x) = f(t), t = (x - 3) / (x + 1), x > 1
  static constexpr double k1_far[] = {
      0x1.65a260862b35ep+0,  -0x1.6b98e74488343p-3,  0x1.6595f9d3a0738p-5,  -0x1.9e097c3c5f91dp-7,
      0x1.e40761939b32ep-9,  -0x1.276b51f31b61ep-10, 0x1.68d7d91e6e2f9p-12, -0x1.c3cd0ad187c34p-14,
      0x1.197da0f467cecp-15, -0x1.66221be57e1dep-17, 0x1.c2c15053bec7cp-19, -0x1.227297d522a27p-20,
      0x1.6eaf1d0e9deb5p-22, -0x1.dfc748d4c626dp-24, 0x1.2d766369e935cp-25, -0x1.8bedc7ffa4425p-27,
      0x1.e73d99dafc4c9p-29, -0x1.89bb99d40f97ap-30, 0x1.a9aa2ea11938bp-32, -0x1.fb24323d42352p-36,
      0x1.2394b7943069cp-35, -0x1.c1d9fee7912b6p-35};

  // J_0(x) = 1 + z f(z), z = x^2, x < 2
  static constexpr double j0_near[] = {-0x1.0000000000000p-2,  0x1.ffffffffffffdp-7,   -0x1.c71c71c71c466p-12,
                                       0x1.c71c71c700931p-18,  -0x1.23456780b41bep-24, 0x1.02e858ca61eeep-31,
                                       -0x1.5228e2fa14dedp-39, 0x1.51d2ab56b0f9dp-47,  -0x1.fedaaceddf4a3p-56};

  // J_1(x) / x = f(x^2), x < 2
  static constexpr double j1_near[] = {0x1.0000000000000p-1,   -0x1.ffffffffffff0p-5,  0x1.5555555554e94p-9,
                                       -0x1.c71c71c6d707bp-15, 0x1.6c16c155c0619p-21,  -0x1.845c81f899a4ap-28,
                                       0x1.27e343ad59439p-35,  -0x1.51bd167b02a8fp-43, 0x1.1deaae5c50be1p-51};

  // Y_0(x) - 2 / pi log(x) J_0(x) = f(x^2), x < 2
  static constexpr double y0_near[] = {-0x1.2e4d699cbd01fp-4,  0x1.6bbcb41034286p-3,   -0x1.075b1bbf41344p-6,
                                       0x1.1a6206b7b8a72p-11,  -0x1.3e997941b0858p-17, 0x1.bce4a5d9f31f1p-24,
                                       -0x1.a6ee6e5b5ca8ap-31, 0x1.2391e4f9fdcc0p-38,  -0x1.309dd920e7d1fp-46,
                                       0x1.dba81d7aed2aap-55};

  // (Y_1(x) - 2 / pi (log(x) J_1(x) - 1 / x)) / x = f(x^2), x < 2
  static constexpr double y1_near[] = {-0x1.91866143cbc8ap-3,  0x1.bd3975c75b4a7p-5,   -0x1.835b97894be4fp-9,
                                       0x1.2c7dbffcde4c0p-14,  -0x1.0a780ac758189p-20, 0x1.32e5a4cf88998p-27,
                                       -0x1.f0ce2ca08646dp-35, 0x1.2a4ca949d138bp-42,  -0x1.1425d63eb1b1dp-50,
                                       0x1.84daa789111cbp-59};

  // J_0(x) by the product of x less its zeros = f(t), t = (x - 3.5) / 1.5, 2 < x < 5
  static constexpr double j0_middle[] = {
      0x1.5fe412ece0780p-3,  -0x1.de94ec06a3532p-7,  -0x1.e0ec7b87233a4p-6,  0x1.fcf2647982bccp-10,
      0x1.fee9e25fe8044p-10, -0x1.b8f61639c591bp-14, -0x1.26ec8a6074c93p-14, 0x1.ad0f27749ecf5p-19,
      0x1.ae43e9be6c6d3p-20, -0x1.0e32a5123e380p-24, -0x1.b16726c4921b7p-26, 0x1.de9a333216023p-31,
      0x1.3fadb10eba3a8p-32, -0x1.3adf57d1eb272p-37, -0x1.5eda1644eaa0ap-39, 0x1.3811b6dc666cfp-44};

  // J_1(x) by the product of x less its zeros = f(t), t = (x - 3.5) / 1.5, 2 < x < 5
  static constexpr double j1_middle[] = {
      0x1.e287be9003592p-4,  0x1.64b7a1b9be9d3p-5,  -0x1.25aa3fe24edaep-6,  -0x1.739f595809cd6p-8,
      0x1.200855bf2e409p-10, 0x1.3d6a2070b0016p-12, -0x1.39cb3f63296e1p-15, -0x1.31a32ecbab89cp-17,
      0x1.b6244bee26841p-21, 0x1.7de5db5f2a8f8p-23, -0x1.aa76de49b0f78p-27, -0x1.501f4a7473619p-29,
      0x1.3209ad3eb2222p-33, 0x1.b80d169c234f8p-36, -0x1.48924556be1b4p-40, -0x1.b25f5e26019c1p-43};

  // Y_0(x) by the product of x less its zeros = f(t), t = (x - 3.5) / 1.5, 2 < x < 5
  static constexpr double y0_middle[] = {
      -0x1.a6e9e7cadfd3cp-2, -0x1.2e2008cc2c48ep-7,  0x1.2bb05d25dc6f3p-3,   -0x1.1a1e816fdd584p-7,
      -0x1.9736d8e82ee9fp-7, 0x1.18a7e3ba31770p-12,  0x1.85cc2350d459cp-11,  -0x1.3205045f5a094p-14,
      0x1.80480e1ae17ddp-20, -0x1.c3a7b25557d27p-18, 0x1.b09e900d3b03cp-19,  -0x1.379dca2a440b1p-20,
      0x1.e7b1a99a6ad51p-22, -0x1.899a85a450cbbp-23, 0x1.3ca57a5868413p-24,  -0x1.0156384565ebdp-25,
      0x1.a196c8fa693bap-27, -0x1.3a6c588be2e39p-28, 0x1.f6035e92b2118p-30,  -0x1.2cf186061e2e3p-30,
      0x1.02e72f0ce7eccp-31, 0x1.dc10d3781ebb2p-36,  -0x1.6069c0cef2588p-36, -0x1.3b8d1c0863385p-34,
      0x1.10f5ca7b29262p-35};

  // Y_1(x) by the product of x less its zeros = f(t), t = (x - 3.5) / 1.5, 2 < x < 5
  static constexpr double y1_middle[] = {
      -0x1.4e243dd844a33p-3,  0x1.299912bde28c1p-6,  0x1.989ce14122c40p-6,   -0x1.822242c768c0ap-11,
      -0x1.2b1e04dca7ffdp-9,  0x1.31e3d3aefe930p-12, -0x1.458b64b8eb8bep-16, 0x1.23baa66274138p-15,
      -0x1.2c3d8170cd6e5p-16, 0x1.decc97afac54ep-18, -0x1.96e15f6d0d2d6p-19, 0x1.6175311e611fdp-20,
      -0x1.30cd84635855cp-21, 0x1.062f4378f8d18p-22, -0x1.c211dc3643c52p-24, 0x1.828b79152a6dep-25,
      -0x1.52b03cd573c92p-26, 0x1.248afec02da54p-27, -0x1.adcb6da2e3958p-29, 0x1.63bf788ba7c19p-30,
      -0x1.1f0aa01dc0737p-30, 0x1.06df7c865fddfp-31, 0x1.7e61cb219b6e4p-34,  -0x1.a87865a1b5edcp-35,
      -0x1.63c2063b9a712p-34, 0x1.4092a61976ce4p-35};

  // P_0(x) = f(t), t = 50 / x^2 - 1, x > 5
  static constexpr double p0_far[] = {
      0x1.ff4d0e58750e7p-1,   -0x1.5bfe8e4499278p-10, 0x1.24e857e031385p-15, -0x1.4a2bb234fe024p-19,
      0x1.3f88ee6eac547p-22,  -0x1.b4ebd44f941ffp-25, 0x1.7bfa1eca82aecp-27, -0x1.8a86464f1d21fp-29,
      0x1.d5584b0354ca1p-31,  -0x1.398ee19c4e7bcp-32, 0x1.cb6c7359d1be4p-34, -0x1.37439ae824e6ap-35,
      0x1.bae6a5675c692p-37,  -0x1.dfd1f31e771d8p-37, 0x1.260e7dc4ea2fdp-37, 0x1.e0a990fa9a1bep-39,
      -0x1.8fa29a7dae927p-39, -0x1.3a9a744507aafp-39, 0x1.93b20ae0b5dfep-40};

  // Q_0(x) x = f(t), t = 50 / x^2 - 1, x > 5
  static constexpr double q0_far[] = {-0x1.fa53af1a412d6p-4,  0x1.5883682266d31p-10,  -0x1.09dd7055e3afcp-14,
                                      0x1.a2b325efb6e64p-18,  -0x1.f930577aa1000p-21, 0x1.953c7bae2adbdp-23,
                                      -0x1.8e8dd89a70191p-25, 0x1.c8e9f593699a3p-27,  -0x1.273243006122cp-28,
                                      0x1.a209f16bc2237p-30,  -0x1.3f3f56331d114p-31, 0x1.1c35d9a93db62p-32,
                                      -0x1.0caab54fdafe4p-33, 0x1.0a1285e7ea39cp-36,  0x1.eb7eba2d2c4d9p-38,
                                      0x1.adf297aa682ddp-35,  -0x1.4789894ecc9fbp-35, -0x1.7f9c06f4cb360p-36,
                                      0x1.3689d7f87863ap-36,  0x1.2d37e798f0449p-37,  -0x1.a8775ea3a7f32p-38};

  // P_1(x) = f(t), t = 50 / x^2 - 1, x > 5
  static constexpr double p1_far[] = {
      0x1.00961eaac1aa9p+0,   0x1.25cb0665de446p-9,  -0x1.800dd41111785p-15, 0x1.8fc8a4519a43fp-19,
      -0x1.743c6fcaaf5fep-22, 0x1.f1801f6b891c9p-25, -0x1.aa2bd5b834ecfp-27, 0x1.b5bcbd267aaeep-29,
      -0x1.0244b906bbbf8p-30, 0x1.56cc7f3d83cb7p-32, -0x1.f383b1bd7ff0bp-34, 0x1.5239f745c86f1p-35,
      -0x1.e164c1e780321p-37, 0x1.fffd18a7540a0p-37, -0x1.38649be0a4a39p-37, -0x1.f957a8b0aa642p-39,
      0x1.a48afa3875cfdp-39,  0x1.4d57047483f35p-39, -0x1.aaf1d00d97e24p-40};

  // Q_1(x) x = f(t), t = 50 / x^2 - 1, x > 5
  static constexpr double q1_far[] = {
      0x1.7e0025755b90ep-2,   -0x1.e8dbf08d12888p-10, 0x1.4b4523f72885ep-14, -0x1.ee9665ed7598cp-18,
      0x1.21e1275afe127p-20,  -0x1.c8b310837efdcp-23, 0x1.bb9af0829fb1dp-25, -0x1.f7e89b954ef67p-27,
      0x1.42cf25e6a1dc3p-28,  -0x1.c74936eff1ef2p-30, 0x1.67d0fa95a01c6p-31, -0x1.325b58b594212p-32,
      0x1.482fa52c07dc7p-34,  -0x1.29a4c978bc127p-36, 0x1.3ebffcea5681bp-34, -0x1.c604bc5b8da36p-35,
      -0x1.f0c8a96b56a95p-36, 0x1.9337a594c6006p-36,  0x1.d0a65cb3a03bbp-37, -0x1.3d86d1792c3aap-37};
};

template <>
struct BesselFits<float> {  // relative errors of about 2^-34
  // I_0(x) / (x / 2)^0 = 1 + z f(z), z = x^2 / 4, x < 8
  static constexpr double i0_near[] = {0x1.fffffffffcd6ep-1,  0x1.000000007166cp-2,  0x1.c71c71b2147f3p-6,
                                       0x1.c71c734dd2082p-10, 0x1.234558e7fc9d7p-14, 0x1.02e9014e05e34p-19,
                                       0x1.52210a1e75801p-25, 0x1.5280c915cae14p-31, 0x1.09169a50b91a6p-37,
                                       0x1.6728bcdf404fep-44, 0x1.129debb2b7527p-51, 0x1.1a8f1aef1a72ap-57};

  // I_0(x) sqrt(x) exp(-x) = f(t), t = 16 / x - 1, x > 8
  static constexpr double i0_far[] = {0x1.9bd428ace770bp-2,  0x1.b8796983a2aa0p-9,  0x1.1daad435a127cp-13,
                                      0x1.75eac1c892dccp-17, 0x1.8cc09f987e159p-20, 0x1.3b626aeb2556cp-22,
                                      0x1.c5b3cb3c31b84p-24, 0x1.ab76d1594c0c9p-25, 0x1.a24feabe8004fp-30,
                                      -0x1.1511d08397425p-27};

  // I_1(x) / (x / 2)^1 = 1 + z f(z), z = x^2 / 4, x < 8
  static constexpr double i1_near[] = {0x1.000000000a3afp-1,  0x1.5555555084675p-4,  0x1.c71c7286d6de9p-8,
                                       0x1.6c16b5ce7a3b2p-12, 0x1.845d428ef19a6p-17, 0x1.27de51523380dp-22,
                                       0x1.5276ddab9e311p-28, 0x1.2a64b90210501p-34, 0x1.c011c559103ccp-41,
                                       0x1.7c0c220345bbcp-48, 0x1.a67b08e6faf68p-54};

  // I_1(x) sqrt(x) exp(-x) = f(t), t = 16 / x - 1, x > 8
  static constexpr double i1_far[] = {0x1.8ebe783ac527dp-2,   -0x1.3f7961894f91bp-7,  -0x1.cbc5b59f3813dp-13,
                                      -0x1.f8a17f1c89de2p-17, -0x1.eae524c5960bep-20, -0x1.71c61481943f3p-22,
                                      -0x1.fa4479865658fp-24, -0x1.d43b56be5a139p-25, -0x1.4dcf9d4504c0cp-29,
                                      0x1.1e1a1f1587865p-27};

  // (e^r - 1 - r) / r^2 = f(r), |r| < log(2) / 2
  static constexpr double exp_tail[] = {0x1.fffffffffe067p-2, 0x1.55555567514cfp-3,  0x1.55555565c5e3dp-5,
                                        0x1.1110c638709acp-7, 0x1.6c166be5dbe9cp-10, 0x1.a1516cfd1180cp-13,
                                        0x1.a136b27e95ecep-16};

  // J_0(x) = 1 + z f(z), z = x^2, x < 2
  static constexpr double j0_near[] = {-0x1.ffffffffd7d2cp-3, 0x1.ffffffd2bca56p-7,   -0x1.c71c613e23ae3p-12,
                                       0x1.c718059c21dbep-18, -0x1.22bc41d080977p-24, 0x1.e708aa94c7425p-32};

  // J_1(x) / x = f(x^2), x < 2
  static constexpr double j1_near[] = {0x1.fffffffffebf0p-2,   -0x1.ffffffff09facp-5, 0x1.55555517bd85ap-9,
                                       -0x1.c71c5aa2578e4p-15, 0x1.6c129c3f6b39cp-21, -0x1.839903e6825fbp-28,
                                       0x1.15f0f2745a643p-35};

  // Y_0(x) - 2 / pi log(x) J_0(x) = f(x^2), x < 2
  static constexpr double y0_near[] = {-0x1.2e4d699c33e67p-4, 0x1.6bbcb409a2780p-3,   -0x1.075b1aecb0691p-6,
                                       0x1.1a61df24b1e31p-11, -0x1.3e9261baa77b8p-17, 0x1.bb95d5144e0fbp-24,
                                       -0x1.88222123b5c7dp-31};

  // (Y_1(x) - 2 / pi (log(x) J_1(x) - 1 / x)) / x = f(x^2), x < 2
  static constexpr double y1_near[] = {-0x1.91866143c75e9p-3, 0x1.bd3975c5aa31ep-5,   -0x1.835b971cdc6b0p-9,
                                       0x1.2c7dab9d18157p-14, -0x1.0a7464785558fp-20, 0x1.323975442d331p-27,
                                       -0x1.d12bd61c58265p-35};

  // J_0(x) by the product of x less its zeros = f(t), t = (x - 3.5) / 1.5, 2 < x < 5
  static constexpr double j0_middle[] = {0x1.5fe412ecdf413p-3,   -0x1.de94ec01a68fep-7, -0x1.e0ec7b8467702p-6,
                                         0x1.fcf2615a8f0ddp-10,  0x1.fee9e06113207p-10, -0x1.b8f4fe14672ccp-14,
                                         -0x1.26ec01ed7bfc3p-14, 0x1.acbede1eca74ap-19, 0x1.ae01f141a5117p-20,
                                         -0x1.0419c2552cb96p-24, -0x1.a2a95e3ad6a06p-26};

  // J_1(x) by the product of x less its zeros = f(t), t = (x - 3.5) / 1.5, 2 < x < 5
  static constexpr double j1_middle[] = {0x1.e287be90022f7p-4,   0x1.64b7a1b63dce9p-5,   -0x1.25aa3fe0ffaffp-6,
                                         -0x1.739f5726da347p-8,  0x1.200854ca85786p-10,  0x1.3d695baaaf4ddp-12,
                                         -0x1.39cabcb081993p-15, -0x1.316aca6f76a44p-17, 0x1.b5e51c47973c0p-21,
                                         0x1.6fb6cc28bb4e5p-23,  -0x1.9c58d02a1388bp-27};

  // Y_0(x) by the product of x less its zeros = f(t), t = (x - 3.5) / 1.5, 2 < x < 5
  static constexpr double y0_middle[] = {-0x1.a6e9e7ca9351ep-2,  -0x1.2e2008ea58b81p-7,  0x1.2bb05cec0d1cfp-3,
                                         -0x1.1a1e7d18fdd45p-7,  -0x1.9736a017f24e1p-7,  0x1.18a2236be1992p-12,
                                         0x1.85b756fe4c636p-11,  -0x1.319a3a8fe3079p-14, 0x1.f2f5e8915ac29p-20,
                                         -0x1.d35d77f96bc39p-18, 0x1.6153e3dd7d94ap-19,  -0x1.d4a171e53d655p-21,
                                         0x1.c0df901557ee0p-21,  -0x1.7ad6b42b7fec6p-22};

  // Y_1(x) by the product of x less its zeros = f(t), t = (x - 3.5) / 1.5, 2 < x < 5
  static constexpr double y1_middle[] = {-0x1.4e243dd838842p-3,  0x1.299912d6e8bb9p-6,   0x1.989ce11144ebap-6,
                                         -0x1.8222b5bfb60ebp-11, -0x1.2b1de5f5ba8c9p-9,  0x1.31ed5464a6c2bp-12,
                                         -0x1.46045c28b7661p-16, 0x1.225acf928244cp-15,  -0x1.2a7043393657ep-16,
                                         0x1.f890bdee4dc7bp-18,  -0x1.b44d19e824cecp-19, 0x1.c7317163fd322p-21,
                                         -0x1.5eef0122c0f62p-22, 0x1.150ef502c031cp-21,  -0x1.f46a9b1482c6dp-23};

  // P_0(x) = f(t), t = 50 / x^2 - 1, x > 5
  static constexpr double p0_far[] = {0x1.ff4d0e586113ep-1,   -0x1.5bfe8e034b1d3p-10, 0x1.24e8f48fc0081p-15,
                                      -0x1.4a3253bca3df6p-19, 0x1.3e0db6647f6b3p-22,  -0x1.af323cb838b0fp-25,
                                      0x1.c3281e181b7aep-27,  -0x1.fb29185a208fdp-29};

  // Q_0(x) x = f(t), t = 50 / x^2 - 1, x > 5
  static constexpr double q0_far[] = {-0x1.fa53af1a6550cp-4,  0x1.588366af93b4ap-10,  -0x1.09dd54c67ab29p-14,
                                      0x1.a2c5e9b4e1894p-18,  -0x1.f99ac131df6b6p-21, 0x1.8d2dd88e17a99p-23,
                                      -0x1.7cf87e899abb5p-25, 0x1.32dba50b2d293p-26,  -0x1.b6d438bf78905p-28};

  // P_1(x) = f(t), t = 50 / x^2 - 1, x > 5
  static constexpr double p1_far[] = {0x1.00961eaacc9e8p+0,   0x1.25cb06424dda6p-9,   -0x1.800e7fe728fdcp-15,
                                      0x1.8fcfddac7aa49p-19,  -0x1.729c645c0d780p-22, 0x1.eb42d22278411p-25,
                                      -0x1.f85235b815170p-27, 0x1.184b640d28456p-28};

  // Q_1(x) x = f(t), t = 50 / x^2 - 1, x > 5
  static constexpr double q1_far[] = {0x1.7e002574760d5p-2,   -0x1.e8dbeefae23a5p-10, 0x1.4b46e4bec5331p-14,
                                      -0x1.eeaac1486e02dp-18, 0x1.1fc47173e75c0p-20,  -0x1.bff486b8350d8p-23,
                                      0x1.101e524f5dedep-24,  -0x1.511bb4a940779p-26};
};

}  // namespace reel::kernels::math
