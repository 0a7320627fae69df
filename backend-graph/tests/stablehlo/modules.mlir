// ---- control/collatz: ns=4
// main(in0_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<4xi64>) -> (tensor<4xi32>, tensor<i64>) {
// map at control/collatz.acc:6:31
%1 = stablehlo.constant dense<0> : tensor<i32>
// map at control/collatz.acc:6:24
%2 = stablehlo.constant dense<true> : tensor<i1>
// map at control/collatz.acc:8:13
%3 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i32>) -> tensor<4xi32>
%4 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i1>) -> tensor<4xi1>
%5 = stablehlo.constant dense<false> : tensor<i1>
%9 = "stablehlo.reduce"(%4, %5) <{dimensions = array<i64: 0>}> ({
^bb0(%6: tensor<i1>, %7: tensor<i1>):
%8 = stablehlo.or %6, %7 : tensor<i1>
"stablehlo.return"(%8) : (tensor<i1>) -> ()
}) : (tensor<4xi1>, tensor<i1>) -> (tensor<i1>)
%10 = stablehlo.constant dense<0> : tensor<i64>
%54:5 = "stablehlo.while"(%4, %3, %0, %9, %10) ({
^bb0(%11: tensor<4xi1>, %12: tensor<4xi32>, %13: tensor<4xi64>, %14: tensor<i1>, %15: tensor<i64>):
%16 = stablehlo.constant dense<0> : tensor<i64>
%17 = stablehlo.compare EQ, %15, %16, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%18 = stablehlo.and %14, %17 : tensor<i1>
"stablehlo.return"(%18) : (tensor<i1>) -> ()
}, {
^bb0(%19: tensor<4xi1>, %20: tensor<4xi32>, %21: tensor<4xi64>, %22: tensor<i1>, %23: tensor<i64>):
// map at control/collatz.acc:6:73
%24 = stablehlo.constant dense<1> : tensor<i64>
%25 = stablehlo.broadcast_in_dim %24, dims = [] : (tensor<i64>) -> tensor<4xi64>
%26 = stablehlo.compare GT, %21, %25, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
%27 = stablehlo.and %19, %26 : tensor<4xi1>
%28 = stablehlo.and %19, %27 : tensor<4xi1>
// map at control/collatz.acc:7:26
%29 = stablehlo.constant dense<2> : tensor<i64>
%30 = stablehlo.broadcast_in_dim %29, dims = [] : (tensor<i64>) -> tensor<4xi64>
%31 = stablehlo.remainder %21, %30 : tensor<4xi64>
// map at control/collatz.acc:7:23
%32 = stablehlo.constant dense<0> : tensor<i64>
%33 = stablehlo.broadcast_in_dim %32, dims = [] : (tensor<i64>) -> tensor<4xi64>
%34 = stablehlo.compare EQ, %31, %33, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
// map at control/collatz.acc:7:55
%35 = stablehlo.broadcast_in_dim %29, dims = [] : (tensor<i64>) -> tensor<4xi64>
%36 = stablehlo.divide %21, %35 : tensor<4xi64>
// map at control/collatz.acc:7:89
%37 = stablehlo.constant dense<3> : tensor<i64>
%38 = stablehlo.broadcast_in_dim %37, dims = [] : (tensor<i64>) -> tensor<4xi64>
%39 = stablehlo.multiply %21, %38 : tensor<4xi64>
// map at control/collatz.acc:7:85
%40 = stablehlo.constant dense<1> : tensor<i64>
%41 = stablehlo.broadcast_in_dim %40, dims = [] : (tensor<i64>) -> tensor<4xi64>
%42 = stablehlo.add %39, %41 : tensor<4xi64>
%43 = stablehlo.select %34, %36, %42 : tensor<4xi1>, tensor<4xi64>
// map at control/collatz.acc:8:21
%44 = stablehlo.constant dense<1> : tensor<i32>
// map at control/collatz.acc:8:13
%45 = stablehlo.broadcast_in_dim %44, dims = [] : (tensor<i32>) -> tensor<4xi32>
%46 = stablehlo.add %20, %45 : tensor<4xi32>
%47 = stablehlo.select %28, %46, %20 : tensor<4xi1>, tensor<4xi32>
%48 = stablehlo.select %28, %43, %21 : tensor<4xi1>, tensor<4xi64>
%49 = stablehlo.constant dense<false> : tensor<i1>
%53 = "stablehlo.reduce"(%28, %49) <{dimensions = array<i64: 0>}> ({
^bb0(%50: tensor<i1>, %51: tensor<i1>):
%52 = stablehlo.or %50, %51 : tensor<i1>
"stablehlo.return"(%52) : (tensor<i1>) -> ()
}) : (tensor<4xi1>, tensor<i1>) -> (tensor<i1>)
"stablehlo.return"(%28, %47, %48, %53, %23) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi64>, tensor<i1>, tensor<i64>) -> ()
}) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi64>, tensor<i1>, tensor<i64>) -> (tensor<4xi1>, tensor<4xi32>, tensor<4xi64>, tensor<i1>, tensor<i64>)
return %54#1, %54#4 : tensor<4xi32>, tensor<i64>
}
}

// ---- foreign/traces-change-nothing: xs=3
// main(in0_0, in1_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<3xi64>, %1: tensor<i1>) -> (tensor<3xi64>, tensor<i64>) {
// acond at foreign/traces-change-nothing.acc:8:30
%2 = stablehlo.convert %1 : (tensor<i1>) -> tensor<i64>
%3 = stablehlo.constant dense<0> : tensor<i64>
%4 = stablehlo.compare NE, %2, %3, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%7 = stablehlo.optimization_barrier %4 : tensor<i1>
%8:2 = "stablehlo.if"(%7) ({
// trace at foreign/traces-change-nothing.acc:7:15
// trace at foreign/traces-change-nothing.acc:6:15
%5 = stablehlo.constant dense<0> : tensor<i64>
"stablehlo.return"(%0, %5) : (tensor<3xi64>, tensor<i64>) -> ()
}, {
%6 = stablehlo.constant dense<0> : tensor<i64>
"stablehlo.return"(%0, %6) : (tensor<3xi64>, tensor<i64>) -> ()
}) : (tensor<i1>) -> (tensor<3xi64>, tensor<i64>)
// map at foreign/traces-change-nothing.acc:9:73
%9 = stablehlo.constant dense<0> : tensor<i64>
%10 = stablehlo.compare NE, %2, %9, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%21 = stablehlo.optimization_barrier %10 : tensor<i1>
%22:2 = "stablehlo.if"(%21) ({
// map at foreign/traces-change-nothing.acc:9:52
// map at foreign/traces-change-nothing.acc:9:50
// trace at foreign/traces-change-nothing.acc:7:15
// trace at foreign/traces-change-nothing.acc:6:15
// map at foreign/traces-change-nothing.acc:9:50
// acond at foreign/traces-change-nothing.acc:8:30
// map at foreign/traces-change-nothing.acc:9:50
%11 = stablehlo.constant dense<false> : tensor<i1>
%12 = stablehlo.slice %0 [0:1:1] : (tensor<3xi64>) -> tensor<1xi64>
%13 = stablehlo.reshape %12 : (tensor<1xi64>) -> tensor<i64>
%14 = stablehlo.reshape %13 : (tensor<i64>) -> tensor<1xi64>
%18 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<1xi64>) -> tensor<3xi64>
%19 = stablehlo.constant dense<0> : tensor<i64>
"stablehlo.return"(%18, %19) : (tensor<3xi64>, tensor<i64>) -> ()
}, {
// map at foreign/traces-change-nothing.acc:9:73
%15 = stablehlo.constant dense<1> : tensor<i64>
%16 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<i64>) -> tensor<3xi64>
%17 = stablehlo.add %8#0, %16 : tensor<3xi64>
%20 = stablehlo.constant dense<0> : tensor<i64>
"stablehlo.return"(%17, %20) : (tensor<3xi64>, tensor<i64>) -> ()
}) : (tensor<i1>) -> (tensor<3xi64>, tensor<i64>)
%23 = stablehlo.constant dense<0> : tensor<i64>
%24 = stablehlo.compare EQ, %8#1, %23, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%25 = stablehlo.select %24, %22#1, %8#1 : tensor<i1>, tensor<i64>
// map at foreign/traces-change-nothing.acc:9:15
return %22#0, %25 : tensor<3xi64>, tensor<i64>
}
}
// fault 1: index out of bounds at foreign/traces-change-nothing.acc:9:50

// ---- fold/pools: xs=4x6,ks=5,window=2
// main(in0_0, in1_0, in2_0) -> (out0_0, out1_0, out2_0, out3_0, out4_0, fault)
module @acc {
func.func public @main(%0: tensor<4x6xf32>, %1: tensor<5xi32>, %2: tensor<i64>) -> (tensor<2x3xf32>, tensor<4x6xf32>, tensor<2xi32>, tensor<2xi32>, tensor<4xi1>, tensor<i64>) {
// generate at fold/pools.acc:5:54
// generate at fold/pools.acc:5:35
// generate at fold/pools.acc:5:61
// generate at fold/pools.acc:5:88
// generate at fold/pools.acc:5:15
%3 = stablehlo.constant dense<false> : tensor<i1>
%4 = stablehlo.constant dense<false> : tensor<i1>
// generate at fold/pools.acc:6:5
%5 = stablehlo.constant dense<false> : tensor<i1>
// generate at fold/pools.acc:5:15
// fold1 at fold/pools.acc:7:15
%6 = stablehlo.constant dense<false> : tensor<i1>
%7 = stablehlo.constant dense<0> : tensor<i64>
%8 = stablehlo.constant dense<2> : tensor<i64>
%9 = stablehlo.constant dense<1> : tensor<i64>
%10 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<i64>) -> tensor<3x2xi64>
%11 = stablehlo.iota dim = 0 : tensor<3x2xi64>
%12 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<i64>) -> tensor<3x2xi64>
%13 = stablehlo.multiply %11, %12 : tensor<3x2xi64>
%14 = stablehlo.add %10, %13 : tensor<3x2xi64>
%15 = stablehlo.iota dim = 1 : tensor<3x2xi64>
%16 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i64>) -> tensor<3x2xi64>
%17 = stablehlo.multiply %15, %16 : tensor<3x2xi64>
%18 = stablehlo.add %14, %17 : tensor<3x2xi64>
%19 = stablehlo.reshape %18 : (tensor<3x2xi64>) -> tensor<3x2x1xi64>
%20 = "stablehlo.gather"(%0, %19) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 4, 1>, indices_are_sorted = false}> : (tensor<4x6xf32>, tensor<3x2x1xi64>) -> (tensor<4x3x2xf32>)
%21 = stablehlo.constant dense<0xFF800000> : tensor<f32>
%25 = "stablehlo.reduce"(%20, %21) <{dimensions = array<i64: 2>}> ({
^bb0(%22: tensor<f32>, %23: tensor<f32>):
%24 = stablehlo.maximum %22, %23 : tensor<f32>
"stablehlo.return"(%24) : (tensor<f32>) -> ()
}) : (tensor<4x3x2xf32>, tensor<f32>) -> (tensor<4x3xf32>)
// fold1 at fold/pools.acc:8:22
%26 = stablehlo.constant dense<false> : tensor<i1>
%27 = stablehlo.constant dense<0> : tensor<i64>
%28 = stablehlo.constant dense<1> : tensor<i64>
%29 = stablehlo.constant dense<1> : tensor<i64>
%30 = stablehlo.broadcast_in_dim %27, dims = [] : (tensor<i64>) -> tensor<2x3xi64>
%31 = stablehlo.iota dim = 0 : tensor<2x3xi64>
%32 = stablehlo.broadcast_in_dim %28, dims = [] : (tensor<i64>) -> tensor<2x3xi64>
%33 = stablehlo.multiply %31, %32 : tensor<2x3xi64>
%34 = stablehlo.add %30, %33 : tensor<2x3xi64>
%35 = stablehlo.iota dim = 1 : tensor<2x3xi64>
%36 = stablehlo.broadcast_in_dim %29, dims = [] : (tensor<i64>) -> tensor<2x3xi64>
%37 = stablehlo.multiply %35, %36 : tensor<2x3xi64>
%38 = stablehlo.add %34, %37 : tensor<2x3xi64>
%39 = stablehlo.reshape %38 : (tensor<2x3xi64>) -> tensor<2x3x1xi64>
%40 = "stablehlo.gather"(%25, %39) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false}> : (tensor<4x3xf32>, tensor<2x3x1xi64>) -> (tensor<2x3x3xf32>)
%41 = stablehlo.constant dense<0xFF800000> : tensor<f32>
%45 = "stablehlo.reduce"(%40, %41) <{dimensions = array<i64: 1>}> ({
^bb0(%42: tensor<f32>, %43: tensor<f32>):
%44 = stablehlo.maximum %42, %43 : tensor<f32>
"stablehlo.return"(%44) : (tensor<f32>) -> ()
}) : (tensor<2x3x3xf32>, tensor<f32>) -> (tensor<2x3xf32>)
// generate at fold/pools.acc:10:18
%46 = stablehlo.constant dense<false> : tensor<i1>
// generate at fold/pools.acc:14:11
// generate at fold/pools.acc:10:18
%47 = stablehlo.constant dense<false> : tensor<i1>
%48 = stablehlo.constant dense<false> : tensor<i1>
%49 = stablehlo.iota dim = 0 : tensor<6xi64>
// generate at fold/pools.acc:11:15
%50 = stablehlo.constant dense<-1> : tensor<i64>
%51 = stablehlo.constant dense<1> : tensor<i64>
%52 = stablehlo.broadcast_in_dim %51, dims = [] : (tensor<i64>) -> tensor<6xi64>
%53 = stablehlo.multiply %49, %52 : tensor<6xi64>
%54 = stablehlo.broadcast_in_dim %50, dims = [] : (tensor<i64>) -> tensor<6xi64>
%55 = stablehlo.add %53, %54 : tensor<6xi64>
%56 = stablehlo.reshape %55 : (tensor<6xi64>) -> tensor<6x1xi64>
// generate at fold/pools.acc:10:18
%57 = stablehlo.constant dense<0> : tensor<i64>
%58 = stablehlo.broadcast_in_dim %57, dims = [] : (tensor<i64>) -> tensor<6x1xi64>
%59 = stablehlo.compare GE, %56, %58, SIGNED : (tensor<6x1xi64>, tensor<6x1xi64>) -> tensor<6x1xi1>
%60 = stablehlo.constant dense<4> : tensor<i64>
%61 = stablehlo.broadcast_in_dim %60, dims = [] : (tensor<i64>) -> tensor<6x1xi64>
%62 = stablehlo.compare LT, %56, %61, SIGNED : (tensor<6x1xi64>, tensor<6x1xi64>) -> tensor<6x1xi1>
%63 = stablehlo.and %59, %62 : tensor<6x1xi1>
%64 = stablehlo.iota dim = 0 : tensor<8xi64>
%65 = stablehlo.constant dense<-1> : tensor<i64>
%66 = stablehlo.constant dense<1> : tensor<i64>
%67 = stablehlo.broadcast_in_dim %66, dims = [] : (tensor<i64>) -> tensor<8xi64>
%68 = stablehlo.multiply %64, %67 : tensor<8xi64>
%69 = stablehlo.broadcast_in_dim %65, dims = [] : (tensor<i64>) -> tensor<8xi64>
%70 = stablehlo.add %68, %69 : tensor<8xi64>
%71 = stablehlo.reshape %70 : (tensor<8xi64>) -> tensor<1x8xi64>
%72 = stablehlo.broadcast_in_dim %57, dims = [] : (tensor<i64>) -> tensor<1x8xi64>
%73 = stablehlo.compare GE, %71, %72, SIGNED : (tensor<1x8xi64>, tensor<1x8xi64>) -> tensor<1x8xi1>
%74 = stablehlo.constant dense<6> : tensor<i64>
%75 = stablehlo.broadcast_in_dim %74, dims = [] : (tensor<i64>) -> tensor<1x8xi64>
%76 = stablehlo.compare LT, %71, %75, SIGNED : (tensor<1x8xi64>, tensor<1x8xi64>) -> tensor<1x8xi1>
%77 = stablehlo.and %73, %76 : tensor<1x8xi1>
%78 = stablehlo.broadcast_in_dim %63, dims = [0, 1] : (tensor<6x1xi1>) -> tensor<6x8xi1>
%79 = stablehlo.broadcast_in_dim %77, dims = [0, 1] : (tensor<1x8xi1>) -> tensor<6x8xi1>
%80 = stablehlo.and %78, %79 : tensor<6x8xi1>
%81 = stablehlo.constant dense<-1> : tensor<i64>
%82 = stablehlo.constant dense<1> : tensor<i64>
%83 = stablehlo.constant dense<0x00000000> : tensor<f32>
%84 = stablehlo.broadcast_in_dim %81, dims = [] : (tensor<i64>) -> tensor<6xi64>
%85 = stablehlo.iota dim = 0 : tensor<6xi64>
%86 = stablehlo.broadcast_in_dim %82, dims = [] : (tensor<i64>) -> tensor<6xi64>
%87 = stablehlo.multiply %85, %86 : tensor<6xi64>
%88 = stablehlo.add %84, %87 : tensor<6xi64>
%89 = stablehlo.reshape %88 : (tensor<6xi64>) -> tensor<6x1xi64>
%90 = "stablehlo.gather"(%0, %89) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>, indices_are_sorted = false}> : (tensor<4x6xf32>, tensor<6x1xi64>) -> (tensor<6x6xf32>)
%91 = stablehlo.constant dense<4> : tensor<i64>
%92 = stablehlo.constant dense<0> : tensor<i64>
%93 = stablehlo.broadcast_in_dim %92, dims = [] : (tensor<i64>) -> tensor<6xi64>
%94 = stablehlo.compare LT, %88, %93, SIGNED : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi1>
%95 = stablehlo.broadcast_in_dim %91, dims = [] : (tensor<i64>) -> tensor<6xi64>
%96 = stablehlo.compare GE, %88, %95, SIGNED : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi1>
%97 = stablehlo.or %94, %96 : tensor<6xi1>
%98 = stablehlo.reshape %97 : (tensor<6xi1>) -> tensor<6x1xi1>
%99 = stablehlo.broadcast_in_dim %98, dims = [0, 1] : (tensor<6x1xi1>) -> tensor<6x6xi1>
%100 = stablehlo.broadcast_in_dim %83, dims = [] : (tensor<f32>) -> tensor<6x6xf32>
%101 = stablehlo.select %99, %100, %90 : tensor<6x6xi1>, tensor<6x6xf32>
%102 = stablehlo.constant dense<-1> : tensor<i64>
%103 = stablehlo.constant dense<1> : tensor<i64>
%104 = stablehlo.constant dense<0x00000000> : tensor<f32>
%105 = stablehlo.broadcast_in_dim %102, dims = [] : (tensor<i64>) -> tensor<8xi64>
%106 = stablehlo.iota dim = 0 : tensor<8xi64>
%107 = stablehlo.broadcast_in_dim %103, dims = [] : (tensor<i64>) -> tensor<8xi64>
%108 = stablehlo.multiply %106, %107 : tensor<8xi64>
%109 = stablehlo.add %105, %108 : tensor<8xi64>
%110 = stablehlo.reshape %109 : (tensor<8xi64>) -> tensor<8x1xi64>
%111 = "stablehlo.gather"(%101, %110) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 6, 1>, indices_are_sorted = false}> : (tensor<6x6xf32>, tensor<8x1xi64>) -> (tensor<6x8xf32>)
%112 = stablehlo.constant dense<6> : tensor<i64>
%113 = stablehlo.constant dense<0> : tensor<i64>
%114 = stablehlo.broadcast_in_dim %113, dims = [] : (tensor<i64>) -> tensor<8xi64>
%115 = stablehlo.compare LT, %109, %114, SIGNED : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi1>
%116 = stablehlo.broadcast_in_dim %112, dims = [] : (tensor<i64>) -> tensor<8xi64>
%117 = stablehlo.compare GE, %109, %116, SIGNED : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi1>
%118 = stablehlo.or %115, %117 : tensor<8xi1>
%119 = stablehlo.reshape %118 : (tensor<8xi1>) -> tensor<1x8xi1>
%120 = stablehlo.broadcast_in_dim %119, dims = [0, 1] : (tensor<1x8xi1>) -> tensor<6x8xi1>
%121 = stablehlo.broadcast_in_dim %104, dims = [] : (tensor<f32>) -> tensor<6x8xf32>
%122 = stablehlo.select %120, %121, %111 : tensor<6x8xi1>, tensor<6x8xf32>
%123 = stablehlo.constant dense<0x7F800000> : tensor<f32>
%124 = stablehlo.broadcast_in_dim %123, dims = [] : (tensor<f32>) -> tensor<6x8xf32>
%125 = stablehlo.select %80, %122, %124 : tensor<6x8xi1>, tensor<6x8xf32>
// generate at fold/pools.acc:14:11
%126 = stablehlo.constant dense<false> : tensor<i1>
// generate at fold/pools.acc:10:18
// fold at fold/pools.acc:16:73
%127 = stablehlo.constant dense<0> : tensor<i64>
%128 = stablehlo.constant dense<1> : tensor<i64>
%129 = stablehlo.constant dense<1> : tensor<i64>
%130 = stablehlo.broadcast_in_dim %127, dims = [] : (tensor<i64>) -> tensor<6x3xi64>
%131 = stablehlo.iota dim = 0 : tensor<6x3xi64>
%132 = stablehlo.broadcast_in_dim %128, dims = [] : (tensor<i64>) -> tensor<6x3xi64>
%133 = stablehlo.multiply %131, %132 : tensor<6x3xi64>
%134 = stablehlo.add %130, %133 : tensor<6x3xi64>
%135 = stablehlo.iota dim = 1 : tensor<6x3xi64>
%136 = stablehlo.broadcast_in_dim %129, dims = [] : (tensor<i64>) -> tensor<6x3xi64>
%137 = stablehlo.multiply %135, %136 : tensor<6x3xi64>
%138 = stablehlo.add %134, %137 : tensor<6x3xi64>
%139 = stablehlo.reshape %138 : (tensor<6x3xi64>) -> tensor<6x3x1xi64>
%140 = "stablehlo.gather"(%125, %139) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 6, 1>, indices_are_sorted = false}> : (tensor<6x8xf32>, tensor<6x3x1xi64>) -> (tensor<6x6x3xf32>)
%141 = stablehlo.constant dense<0x7F800000> : tensor<f32>
%145 = "stablehlo.reduce"(%140, %141) <{dimensions = array<i64: 2>}> ({
^bb0(%142: tensor<f32>, %143: tensor<f32>):
%144 = stablehlo.minimum %142, %143 : tensor<f32>
"stablehlo.return"(%144) : (tensor<f32>) -> ()
}) : (tensor<6x6x3xf32>, tensor<f32>) -> (tensor<6x6xf32>)
// fold at fold/pools.acc:17:74
%146 = stablehlo.constant dense<0> : tensor<i64>
%147 = stablehlo.constant dense<1> : tensor<i64>
%148 = stablehlo.constant dense<1> : tensor<i64>
%149 = stablehlo.broadcast_in_dim %146, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
%150 = stablehlo.iota dim = 0 : tensor<4x3xi64>
%151 = stablehlo.broadcast_in_dim %147, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
%152 = stablehlo.multiply %150, %151 : tensor<4x3xi64>
%153 = stablehlo.add %149, %152 : tensor<4x3xi64>
%154 = stablehlo.iota dim = 1 : tensor<4x3xi64>
%155 = stablehlo.broadcast_in_dim %148, dims = [] : (tensor<i64>) -> tensor<4x3xi64>
%156 = stablehlo.multiply %154, %155 : tensor<4x3xi64>
%157 = stablehlo.add %153, %156 : tensor<4x3xi64>
%158 = stablehlo.reshape %157 : (tensor<4x3xi64>) -> tensor<4x3x1xi64>
%159 = "stablehlo.gather"(%145, %158) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 6>, indices_are_sorted = false}> : (tensor<6x6xf32>, tensor<4x3x1xi64>) -> (tensor<4x3x6xf32>)
%160 = stablehlo.constant dense<0x7F800000> : tensor<f32>
%164 = "stablehlo.reduce"(%159, %160) <{dimensions = array<i64: 1>}> ({
^bb0(%161: tensor<f32>, %162: tensor<f32>):
%163 = stablehlo.minimum %161, %162 : tensor<f32>
"stablehlo.return"(%163) : (tensor<f32>) -> ()
}) : (tensor<4x3x6xf32>, tensor<f32>) -> (tensor<4x6xf32>)
// generate at fold/pools.acc:19:82
// generate at fold/pools.acc:19:78
// generate at fold/pools.acc:19:68
// generate at fold/pools.acc:19:49
// generate at fold/pools.acc:19:39
// generate at fold/pools.acc:19:19
%165 = stablehlo.constant dense<false> : tensor<i1>
%166 = stablehlo.constant dense<false> : tensor<i1>
// generate at fold/pools.acc:19:135
%167 = stablehlo.constant dense<false> : tensor<i1>
// generate at fold/pools.acc:19:19
// fold at fold/pools.acc:20:74
%168 = stablehlo.constant dense<0> : tensor<i32>
%169 = stablehlo.constant dense<0> : tensor<i64>
%170 = stablehlo.constant dense<1> : tensor<i64>
%171 = stablehlo.constant dense<3> : tensor<i64>
%172 = stablehlo.broadcast_in_dim %169, dims = [] : (tensor<i64>) -> tensor<2x2xi64>
%173 = stablehlo.iota dim = 0 : tensor<2x2xi64>
%174 = stablehlo.broadcast_in_dim %170, dims = [] : (tensor<i64>) -> tensor<2x2xi64>
%175 = stablehlo.multiply %173, %174 : tensor<2x2xi64>
%176 = stablehlo.add %172, %175 : tensor<2x2xi64>
%177 = stablehlo.iota dim = 1 : tensor<2x2xi64>
%178 = stablehlo.broadcast_in_dim %171, dims = [] : (tensor<i64>) -> tensor<2x2xi64>
%179 = stablehlo.multiply %177, %178 : tensor<2x2xi64>
%180 = stablehlo.add %176, %179 : tensor<2x2xi64>
%181 = stablehlo.reshape %180 : (tensor<2x2xi64>) -> tensor<2x2x1xi64>
%182 = "stablehlo.gather"(%1, %181) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<5xi32>, tensor<2x2x1xi64>) -> (tensor<2x2xi32>)
%183 = stablehlo.constant dense<0> : tensor<i32>
%187 = "stablehlo.reduce"(%182, %183) <{dimensions = array<i64: 1>}> ({
^bb0(%184: tensor<i32>, %185: tensor<i32>):
%186 = stablehlo.add %184, %185 : tensor<i32>
"stablehlo.return"(%186) : (tensor<i32>) -> ()
}) : (tensor<2x2xi32>, tensor<i32>) -> (tensor<2xi32>)
// fold at fold/pools.acc:21:78
%188 = stablehlo.constant dense<0> : tensor<i64>
%189 = stablehlo.constant dense<1> : tensor<i64>
%190 = stablehlo.constant dense<3> : tensor<i64>
%191 = stablehlo.broadcast_in_dim %188, dims = [] : (tensor<i64>) -> tensor<2x2xi64>
%192 = stablehlo.iota dim = 0 : tensor<2x2xi64>
%193 = stablehlo.broadcast_in_dim %189, dims = [] : (tensor<i64>) -> tensor<2x2xi64>
%194 = stablehlo.multiply %192, %193 : tensor<2x2xi64>
%195 = stablehlo.add %191, %194 : tensor<2x2xi64>
%196 = stablehlo.iota dim = 1 : tensor<2x2xi64>
%197 = stablehlo.broadcast_in_dim %190, dims = [] : (tensor<i64>) -> tensor<2x2xi64>
%198 = stablehlo.multiply %196, %197 : tensor<2x2xi64>
%199 = stablehlo.add %195, %198 : tensor<2x2xi64>
%200 = stablehlo.reshape %199 : (tensor<2x2xi64>) -> tensor<2x2x1xi64>
%201 = "stablehlo.gather"(%1, %200) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<5xi32>, tensor<2x2x1xi64>) -> (tensor<2x2xi32>)
%202 = stablehlo.constant dense<1> : tensor<i32>
%206 = "stablehlo.reduce"(%201, %202) <{dimensions = array<i64: 1>}> ({
^bb0(%203: tensor<i32>, %204: tensor<i32>):
%205 = stablehlo.multiply %203, %204 : tensor<i32>
"stablehlo.return"(%205) : (tensor<i32>) -> ()
}) : (tensor<2x2xi32>, tensor<i32>) -> (tensor<2xi32>)
// generate at fold/pools.acc:22:50
// generate at fold/pools.acc:22:40
// generate at fold/pools.acc:22:20
%207 = stablehlo.constant dense<false> : tensor<i1>
%208 = stablehlo.constant dense<false> : tensor<i1>
// generate at fold/pools.acc:22:128
%209 = stablehlo.constant dense<false> : tensor<i1>
%210 = stablehlo.constant dense<0> : tensor<i64>
%211 = stablehlo.constant dense<1> : tensor<i64>
%212 = stablehlo.constant dense<1> : tensor<i64>
%213 = stablehlo.broadcast_in_dim %210, dims = [] : (tensor<i64>) -> tensor<4x2xi64>
%214 = stablehlo.iota dim = 0 : tensor<4x2xi64>
%215 = stablehlo.broadcast_in_dim %211, dims = [] : (tensor<i64>) -> tensor<4x2xi64>
%216 = stablehlo.multiply %214, %215 : tensor<4x2xi64>
%217 = stablehlo.add %213, %216 : tensor<4x2xi64>
%218 = stablehlo.iota dim = 1 : tensor<4x2xi64>
%219 = stablehlo.broadcast_in_dim %212, dims = [] : (tensor<i64>) -> tensor<4x2xi64>
%220 = stablehlo.multiply %218, %219 : tensor<4x2xi64>
%221 = stablehlo.add %217, %220 : tensor<4x2xi64>
%222 = stablehlo.reshape %221 : (tensor<4x2xi64>) -> tensor<4x2x1xi64>
%223 = "stablehlo.gather"(%1, %222) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<5xi32>, tensor<4x2x1xi64>) -> (tensor<4x2xi32>)
// generate at fold/pools.acc:22:125
%224 = stablehlo.broadcast_in_dim %168, dims = [] : (tensor<i32>) -> tensor<4x2xi32>
%225 = stablehlo.compare GT, %223, %224, SIGNED : (tensor<4x2xi32>, tensor<4x2xi32>) -> tensor<4x2xi1>
// generate at fold/pools.acc:22:20
// fold at fold/pools.acc:23:76
%226 = stablehlo.constant dense<true> : tensor<i1>
%230 = "stablehlo.reduce"(%225, %226) <{dimensions = array<i64: 1>}> ({
^bb0(%227: tensor<i1>, %228: tensor<i1>):
%229 = stablehlo.and %227, %228 : tensor<i1>
"stablehlo.return"(%229) : (tensor<i1>) -> ()
}) : (tensor<4x2xi1>, tensor<i1>) -> (tensor<4xi1>)
%231 = stablehlo.constant dense<0> : tensor<i64>
return %45, %164, %187, %206, %230, %231 : tensor<2x3xf32>, tensor<4x6xf32>, tensor<2xi32>, tensor<2xi32>, tensor<4xi1>, tensor<i64>
}
}
// fault 1: negative extent at fold/pools.acc:5:15
// fault 2: shape overflow at fold/pools.acc:5:15
// fault 3: index out of bounds at fold/pools.acc:6:5
// fault 4: empty fold at fold/pools.acc:7:15
// fault 5: empty fold at fold/pools.acc:8:22
// fault 6: negative extent at fold/pools.acc:10:18
// fault 7: shape overflow at fold/pools.acc:10:18
// fault 8: shape overflow at fold/pools.acc:10:18
// fault 9: index out of bounds at fold/pools.acc:14:11
// fault 10: negative extent at fold/pools.acc:19:19
// fault 11: shape overflow at fold/pools.acc:19:19
// fault 12: index out of bounds at fold/pools.acc:19:135
// fault 13: negative extent at fold/pools.acc:22:20
// fault 14: shape overflow at fold/pools.acc:22:20
// fault 15: index out of bounds at fold/pools.acc:22:128

// ---- found/first-fault-of-two: table=4,ids=3,offsets=3
// main(in0_0, in1_0, in2_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<4xf32>, %1: tensor<3xi64>, %2: tensor<3xi64>) -> (tensor<2xf32>, tensor<i64>) {
// map at found/first-fault-of-two.acc:5:40
%3 = stablehlo.constant dense<4> : tensor<i64>
%4 = stablehlo.constant dense<0> : tensor<i64>
%5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i64>) -> tensor<3xi64>
%6 = stablehlo.compare LT, %1, %5, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
%7 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i64>) -> tensor<3xi64>
%8 = stablehlo.compare GE, %1, %7, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
%9 = stablehlo.or %6, %8 : tensor<3xi1>
%10 = stablehlo.constant dense<false> : tensor<i1>
%14 = "stablehlo.reduce"(%9, %10) <{dimensions = array<i64: 0>}> ({
^bb0(%11: tensor<i1>, %12: tensor<i1>):
%13 = stablehlo.or %11, %12 : tensor<i1>
"stablehlo.return"(%13) : (tensor<i1>) -> ()
}) : (tensor<3xi1>, tensor<i1>) -> (tensor<i1>)
%15 = stablehlo.constant dense<1> : tensor<i64>
%16 = stablehlo.constant dense<0> : tensor<i64>
%17 = stablehlo.select %14, %15, %16 : tensor<i1>, tensor<i64>
// fold_seg at found/first-fault-of-two.acc:6:18
%18 = stablehlo.constant dense<false> : tensor<i1>
%19 = stablehlo.reshape %1 : (tensor<3xi64>) -> tensor<3x1xi64>
%20 = "stablehlo.gather"(%0, %19) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<4xf32>, tensor<3x1xi64>) -> (tensor<3xf32>)
%21 = stablehlo.constant dense<4> : tensor<i64>
%22 = stablehlo.constant dense<0> : tensor<i64>
%23 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<i64>) -> tensor<3xi64>
%24 = stablehlo.compare LT, %2, %23, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
%25 = stablehlo.broadcast_in_dim %21, dims = [] : (tensor<i64>) -> tensor<3xi64>
%26 = stablehlo.compare GE, %2, %25, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
%27 = stablehlo.or %24, %26 : tensor<3xi1>
%28 = stablehlo.constant dense<false> : tensor<i1>
%32 = "stablehlo.reduce"(%27, %28) <{dimensions = array<i64: 0>}> ({
^bb0(%29: tensor<i1>, %30: tensor<i1>):
%31 = stablehlo.or %29, %30 : tensor<i1>
"stablehlo.return"(%31) : (tensor<i1>) -> ()
}) : (tensor<3xi1>, tensor<i1>) -> (tensor<i1>)
%33 = stablehlo.slice %2 [0:2:1] : (tensor<3xi64>) -> tensor<2xi64>
%34 = stablehlo.slice %2 [1:3:1] : (tensor<3xi64>) -> tensor<2xi64>
%35 = stablehlo.compare GT, %33, %34, SIGNED : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
%36 = stablehlo.constant dense<false> : tensor<i1>
%40 = "stablehlo.reduce"(%35, %36) <{dimensions = array<i64: 0>}> ({
^bb0(%37: tensor<i1>, %38: tensor<i1>):
%39 = stablehlo.or %37, %38 : tensor<i1>
"stablehlo.return"(%39) : (tensor<i1>) -> ()
}) : (tensor<2xi1>, tensor<i1>) -> (tensor<i1>)
%41 = stablehlo.or %32, %40 : tensor<i1>
%42 = stablehlo.constant dense<3> : tensor<i64>
%43 = stablehlo.constant dense<0> : tensor<i64>
%44 = stablehlo.select %41, %42, %43 : tensor<i1>, tensor<i64>
%45 = stablehlo.constant dense<0> : tensor<i64>
%46 = stablehlo.compare EQ, %17, %45, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%47 = stablehlo.select %46, %44, %17 : tensor<i1>, tensor<i64>
%48 = stablehlo.constant dense<0x00000000> : tensor<2xf32>
%49 = stablehlo.constant dense<0> : tensor<3xi64>
%50 = stablehlo.constant dense<1> : tensor<3xi64>
%51 = stablehlo.constant dense<-1> : tensor<i64>
%52 = stablehlo.constant dense<3> : tensor<i64>
%53 = stablehlo.broadcast_in_dim %51, dims = [] : (tensor<i64>) -> tensor<3xi64>
%54 = stablehlo.maximum %2, %53 : tensor<3xi64>
%55 = stablehlo.broadcast_in_dim %52, dims = [] : (tensor<i64>) -> tensor<3xi64>
%56 = stablehlo.minimum %54, %55 : tensor<3xi64>
%57 = stablehlo.convert %56 : (tensor<3xi64>) -> tensor<3xi32>
%58 = stablehlo.reshape %57 : (tensor<3xi32>) -> tensor<3x1xi32>
%62 = "stablehlo.scatter"(%49, %58, %50) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
^bb0(%59: tensor<i64>, %60: tensor<i64>):
%61 = stablehlo.add %59, %60 : tensor<i64>
"stablehlo.return"(%61) : (tensor<i64>) -> ()
}) : (tensor<3xi64>, tensor<3x1xi32>, tensor<3xi64>) -> (tensor<3xi64>)
%63 = stablehlo.constant dense<0> : tensor<i64>
%67 = "stablehlo.reduce_window"(%62, %63) <{window_dimensions = array<i64: 3>, padding = dense<[[2, 0]]> : tensor<1x2xi64>}> ({
^bb0(%64: tensor<i64>, %65: tensor<i64>):
%66 = stablehlo.add %64, %65 : tensor<i64>
"stablehlo.return"(%66) : (tensor<i64>) -> ()
}) : (tensor<3xi64>, tensor<i64>) -> (tensor<3xi64>)
%68 = stablehlo.constant dense<1> : tensor<i64>
%69 = stablehlo.broadcast_in_dim %68, dims = [] : (tensor<i64>) -> tensor<3xi64>
%70 = stablehlo.subtract %67, %69 : tensor<3xi64>
%71 = stablehlo.constant dense<-1> : tensor<i64>
%72 = stablehlo.constant dense<2> : tensor<i64>
%73 = stablehlo.broadcast_in_dim %71, dims = [] : (tensor<i64>) -> tensor<3xi64>
%74 = stablehlo.maximum %70, %73 : tensor<3xi64>
%75 = stablehlo.broadcast_in_dim %72, dims = [] : (tensor<i64>) -> tensor<3xi64>
%76 = stablehlo.minimum %74, %75 : tensor<3xi64>
%77 = stablehlo.convert %76 : (tensor<3xi64>) -> tensor<3xi32>
%78 = stablehlo.reshape %77 : (tensor<3xi32>) -> tensor<3x1xi32>
%82 = "stablehlo.scatter"(%48, %78, %20) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
^bb0(%79: tensor<f32>, %80: tensor<f32>):
%81 = stablehlo.add %79, %80 : tensor<f32>
"stablehlo.return"(%81) : (tensor<f32>) -> ()
}) : (tensor<2xf32>, tensor<3x1xi32>, tensor<3xf32>) -> (tensor<2xf32>)
return %82, %47 : tensor<2xf32>, tensor<i64>
}
}
// fault 1: index out of bounds at found/first-fault-of-two.acc:5:40
// fault 2: offsets of segments are one more than segments, and ascend from 0 or more to at most {} at found/first-fault-of-two.acc:6:18
// fault 3: segments at found/first-fault-of-two.acc:6:18

// ---- found/scans-and-folds: a0=5
// main(in0_0, in0_1) -> (out0_0, out0_1, out1_0, out1_1, out2_0, out2_1, fault)
module @acc {
func.func public @main(%0: tensor<5xf32>, %1: tensor<5xf32>) -> (tensor<f32>, tensor<f32>, tensor<6xf32>, tensor<6xf32>, tensor<5xf32>, tensor<5xf32>, tensor<i64>) {
// scanl at found/scans-and-folds.acc:4:15
%2 = stablehlo.constant dense<0x00000000> : tensor<f32>
%3 = stablehlo.reshape %2 : (tensor<f32>) -> tensor<1xf32>
%4 = stablehlo.concatenate %3, %0, dim = 0 : (tensor<1xf32>, tensor<5xf32>) -> tensor<6xf32>
%5 = stablehlo.concatenate %3, %1, dim = 0 : (tensor<1xf32>, tensor<5xf32>) -> tensor<6xf32>
%6 = stablehlo.slice %4 [0:6:2] : (tensor<6xf32>) -> tensor<3xf32>
%7 = stablehlo.slice %5 [0:6:2] : (tensor<6xf32>) -> tensor<3xf32>
%8 = stablehlo.slice %4 [1:6:2] : (tensor<6xf32>) -> tensor<3xf32>
%9 = stablehlo.slice %5 [1:6:2] : (tensor<6xf32>) -> tensor<3xf32>
%10 = stablehlo.slice %6 [0:2:2] : (tensor<3xf32>) -> tensor<1xf32>
%11 = stablehlo.slice %6 [0:2:2] : (tensor<3xf32>) -> tensor<1xf32>
%12 = stablehlo.slice %6 [1:3:2] : (tensor<3xf32>) -> tensor<1xf32>
%13 = stablehlo.slice %6 [1:3:2] : (tensor<3xf32>) -> tensor<1xf32>
%14 = stablehlo.slice %6 [0:1:1] : (tensor<3xf32>) -> tensor<1xf32>
%15 = stablehlo.slice %6 [0:1:1] : (tensor<3xf32>) -> tensor<1xf32>
%16 = stablehlo.slice %6 [2:3:2] : (tensor<3xf32>) -> tensor<1xf32>
%17 = stablehlo.slice %6 [2:3:2] : (tensor<3xf32>) -> tensor<1xf32>
%18 = stablehlo.concatenate %14, %10, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
%19 = stablehlo.concatenate %15, %10, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
%20 = stablehlo.slice %18 [0:1:1] : (tensor<2xf32>) -> tensor<1xf32>
%21 = stablehlo.reshape %20 : (tensor<1xf32>) -> tensor<1x1xf32>
%22 = stablehlo.reshape %10 : (tensor<1xf32>) -> tensor<1x1xf32>
%23 = stablehlo.concatenate %21, %22, dim = 1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
%24 = stablehlo.reshape %23 : (tensor<1x2xf32>) -> tensor<2xf32>
%25 = stablehlo.slice %18 [1:2:1] : (tensor<2xf32>) -> tensor<1xf32>
%26 = stablehlo.concatenate %24, %25, dim = 0 : (tensor<2xf32>, tensor<1xf32>) -> tensor<3xf32>
%27 = stablehlo.slice %19 [0:1:1] : (tensor<2xf32>) -> tensor<1xf32>
%28 = stablehlo.reshape %27 : (tensor<1xf32>) -> tensor<1x1xf32>
%29 = stablehlo.reshape %10 : (tensor<1xf32>) -> tensor<1x1xf32>
%30 = stablehlo.concatenate %28, %29, dim = 1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
%31 = stablehlo.reshape %30 : (tensor<1x2xf32>) -> tensor<2xf32>
%32 = stablehlo.slice %19 [1:2:1] : (tensor<2xf32>) -> tensor<1xf32>
%33 = stablehlo.concatenate %31, %32, dim = 0 : (tensor<2xf32>, tensor<1xf32>) -> tensor<3xf32>
%34 = stablehlo.slice %4 [0:1:1] : (tensor<6xf32>) -> tensor<1xf32>
%35 = stablehlo.slice %5 [0:1:1] : (tensor<6xf32>) -> tensor<1xf32>
%36 = stablehlo.slice %26 [0:2:1] : (tensor<3xf32>) -> tensor<2xf32>
%37 = stablehlo.slice %33 [0:2:1] : (tensor<3xf32>) -> tensor<2xf32>
%38 = stablehlo.slice %4 [2:6:2] : (tensor<6xf32>) -> tensor<2xf32>
%39 = stablehlo.slice %5 [2:6:2] : (tensor<6xf32>) -> tensor<2xf32>
%40 = stablehlo.concatenate %34, %36, dim = 0 : (tensor<1xf32>, tensor<2xf32>) -> tensor<3xf32>
%41 = stablehlo.concatenate %35, %36, dim = 0 : (tensor<1xf32>, tensor<2xf32>) -> tensor<3xf32>
%42 = stablehlo.reshape %40 : (tensor<3xf32>) -> tensor<3x1xf32>
%43 = stablehlo.reshape %26 : (tensor<3xf32>) -> tensor<3x1xf32>
%44 = stablehlo.concatenate %42, %43, dim = 1 : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
%45 = stablehlo.reshape %44 : (tensor<3x2xf32>) -> tensor<6xf32>
%46 = stablehlo.slice %40 [3:3:1] : (tensor<3xf32>) -> tensor<0xf32>
%47 = stablehlo.reshape %41 : (tensor<3xf32>) -> tensor<3x1xf32>
%48 = stablehlo.reshape %33 : (tensor<3xf32>) -> tensor<3x1xf32>
%49 = stablehlo.concatenate %47, %48, dim = 1 : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
%50 = stablehlo.reshape %49 : (tensor<3x2xf32>) -> tensor<6xf32>
%51 = stablehlo.slice %41 [3:3:1] : (tensor<3xf32>) -> tensor<0xf32>
// fold at found/scans-and-folds.acc:9:15
%52 = stablehlo.slice %4 [0:6:2] : (tensor<6xf32>) -> tensor<3xf32>
%53 = stablehlo.slice %5 [0:6:2] : (tensor<6xf32>) -> tensor<3xf32>
%54 = stablehlo.slice %4 [1:6:2] : (tensor<6xf32>) -> tensor<3xf32>
%55 = stablehlo.slice %5 [1:6:2] : (tensor<6xf32>) -> tensor<3xf32>
%56 = stablehlo.slice %4 [6:6:1] : (tensor<6xf32>) -> tensor<0xf32>
%57 = stablehlo.slice %5 [6:6:1] : (tensor<6xf32>) -> tensor<0xf32>
%58 = stablehlo.slice %52 [0:2:2] : (tensor<3xf32>) -> tensor<1xf32>
%59 = stablehlo.slice %52 [0:2:2] : (tensor<3xf32>) -> tensor<1xf32>
%60 = stablehlo.slice %52 [1:2:2] : (tensor<3xf32>) -> tensor<1xf32>
%61 = stablehlo.slice %52 [1:2:2] : (tensor<3xf32>) -> tensor<1xf32>
%62 = stablehlo.slice %52 [2:3:1] : (tensor<3xf32>) -> tensor<1xf32>
%63 = stablehlo.slice %52 [2:3:1] : (tensor<3xf32>) -> tensor<1xf32>
%64 = stablehlo.concatenate %58, %62, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
%65 = stablehlo.concatenate %58, %63, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
%66 = stablehlo.slice %64 [0:2:2] : (tensor<2xf32>) -> tensor<1xf32>
%67 = stablehlo.slice %65 [0:2:2] : (tensor<2xf32>) -> tensor<1xf32>
%68 = stablehlo.slice %64 [1:2:2] : (tensor<2xf32>) -> tensor<1xf32>
%69 = stablehlo.slice %65 [1:2:2] : (tensor<2xf32>) -> tensor<1xf32>
%70 = stablehlo.slice %64 [2:2:1] : (tensor<2xf32>) -> tensor<0xf32>
%71 = stablehlo.slice %65 [2:2:1] : (tensor<2xf32>) -> tensor<0xf32>
%72 = stablehlo.reshape %66 : (tensor<1xf32>) -> tensor<f32>
%73 = stablehlo.reshape %66 : (tensor<1xf32>) -> tensor<f32>
// scanl1 at found/scans-and-folds.acc:12:23
%74 = stablehlo.slice %0 [0:4:2] : (tensor<5xf32>) -> tensor<2xf32>
%75 = stablehlo.slice %1 [0:4:2] : (tensor<5xf32>) -> tensor<2xf32>
%76 = stablehlo.slice %0 [1:5:2] : (tensor<5xf32>) -> tensor<2xf32>
%77 = stablehlo.slice %1 [1:5:2] : (tensor<5xf32>) -> tensor<2xf32>
%78 = stablehlo.slice %74 [0:2:2] : (tensor<2xf32>) -> tensor<1xf32>
%79 = stablehlo.slice %74 [0:2:2] : (tensor<2xf32>) -> tensor<1xf32>
%80 = stablehlo.slice %74 [1:2:2] : (tensor<2xf32>) -> tensor<1xf32>
%81 = stablehlo.slice %74 [1:2:2] : (tensor<2xf32>) -> tensor<1xf32>
%82 = stablehlo.slice %74 [0:1:1] : (tensor<2xf32>) -> tensor<1xf32>
%83 = stablehlo.slice %74 [0:1:1] : (tensor<2xf32>) -> tensor<1xf32>
%84 = stablehlo.reshape %82 : (tensor<1xf32>) -> tensor<1x1xf32>
%85 = stablehlo.reshape %78 : (tensor<1xf32>) -> tensor<1x1xf32>
%86 = stablehlo.concatenate %84, %85, dim = 1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
%87 = stablehlo.reshape %86 : (tensor<1x2xf32>) -> tensor<2xf32>
%88 = stablehlo.slice %82 [1:1:1] : (tensor<1xf32>) -> tensor<0xf32>
%89 = stablehlo.reshape %83 : (tensor<1xf32>) -> tensor<1x1xf32>
%90 = stablehlo.reshape %78 : (tensor<1xf32>) -> tensor<1x1xf32>
%91 = stablehlo.concatenate %89, %90, dim = 1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
%92 = stablehlo.reshape %91 : (tensor<1x2xf32>) -> tensor<2xf32>
%93 = stablehlo.slice %83 [1:1:1] : (tensor<1xf32>) -> tensor<0xf32>
%94 = stablehlo.slice %0 [0:1:1] : (tensor<5xf32>) -> tensor<1xf32>
%95 = stablehlo.slice %1 [0:1:1] : (tensor<5xf32>) -> tensor<1xf32>
%96 = stablehlo.slice %0 [2:5:2] : (tensor<5xf32>) -> tensor<2xf32>
%97 = stablehlo.slice %1 [2:5:2] : (tensor<5xf32>) -> tensor<2xf32>
%98 = stablehlo.concatenate %94, %87, dim = 0 : (tensor<1xf32>, tensor<2xf32>) -> tensor<3xf32>
%99 = stablehlo.concatenate %95, %87, dim = 0 : (tensor<1xf32>, tensor<2xf32>) -> tensor<3xf32>
%100 = stablehlo.slice %98 [0:2:1] : (tensor<3xf32>) -> tensor<2xf32>
%101 = stablehlo.reshape %100 : (tensor<2xf32>) -> tensor<2x1xf32>
%102 = stablehlo.reshape %87 : (tensor<2xf32>) -> tensor<2x1xf32>
%103 = stablehlo.concatenate %101, %102, dim = 1 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
%104 = stablehlo.reshape %103 : (tensor<2x2xf32>) -> tensor<4xf32>
%105 = stablehlo.slice %98 [2:3:1] : (tensor<3xf32>) -> tensor<1xf32>
%106 = stablehlo.concatenate %104, %105, dim = 0 : (tensor<4xf32>, tensor<1xf32>) -> tensor<5xf32>
%107 = stablehlo.slice %99 [0:2:1] : (tensor<3xf32>) -> tensor<2xf32>
%108 = stablehlo.reshape %107 : (tensor<2xf32>) -> tensor<2x1xf32>
%109 = stablehlo.reshape %92 : (tensor<2xf32>) -> tensor<2x1xf32>
%110 = stablehlo.concatenate %108, %109, dim = 1 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
%111 = stablehlo.reshape %110 : (tensor<2x2xf32>) -> tensor<4xf32>
%112 = stablehlo.slice %99 [2:3:1] : (tensor<3xf32>) -> tensor<1xf32>
%113 = stablehlo.concatenate %111, %112, dim = 0 : (tensor<4xf32>, tensor<1xf32>) -> tensor<5xf32>
// map at found/scans-and-folds.acc:14:15
%114 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<1xf32>) -> tensor<5xf32>
%115 = stablehlo.constant dense<0> : tensor<i64>
return %72, %73, %45, %50, %114, %113, %115 : tensor<f32>, tensor<f32>, tensor<6xf32>, tensor<6xf32>, tensor<5xf32>, tensor<5xf32>, tensor<i64>
}
}

// ---- found/sum-of-products-after-a-fault: a=4,w=3,n=3
// main(in0_0, in1_0, in2_0) -> (out0_0, out1_0, fault)
module @acc {
func.func public @main(%0: tensor<4xf32>, %1: tensor<3xf32>, %2: tensor<3xi64>) -> (tensor<3xi64>, tensor<f32>, tensor<i64>) {
// generate at found/sum-of-products-after-a-fault.acc:5:22
// generate at found/sum-of-products-after-a-fault.acc:5:74
%3 = stablehlo.constant dense<false> : tensor<i1>
%4 = stablehlo.slice %0 [1:4:1] : (tensor<4xf32>) -> tensor<3xf32>
// generate at found/sum-of-products-after-a-fault.acc:5:22
// map at found/sum-of-products-after-a-fault.acc:6:35
%5 = stablehlo.constant dense<1> : tensor<i64>
%6 = stablehlo.constant dense<0> : tensor<i64>
%7 = stablehlo.constant dense<1> : tensor<i64>
%8 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i64>) -> tensor<3xi64>
%9 = stablehlo.compare EQ, %2, %8, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
%10 = stablehlo.constant dense<false> : tensor<i1>
%14 = "stablehlo.reduce"(%9, %10) <{dimensions = array<i64: 0>}> ({
^bb0(%11: tensor<i1>, %12: tensor<i1>):
%13 = stablehlo.or %11, %12 : tensor<i1>
"stablehlo.return"(%13) : (tensor<i1>) -> ()
}) : (tensor<3xi1>, tensor<i1>) -> (tensor<i1>)
%15 = stablehlo.constant dense<2> : tensor<i64>
%16 = stablehlo.constant dense<0> : tensor<i64>
%17 = stablehlo.select %14, %15, %16 : tensor<i1>, tensor<i64>
%18 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<i64>) -> tensor<3xi64>
%19 = stablehlo.select %9, %18, %2 : tensor<3xi1>, tensor<3xi64>
%20 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i64>) -> tensor<3xi64>
%21 = stablehlo.divide %20, %19 : tensor<3xi64>
// fold at found/sum-of-products-after-a-fault.acc:7:74
%22 = stablehlo.dot_general %4, %1, batching_dims = [] x [], contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
return %21, %22, %17 : tensor<3xi64>, tensor<f32>, tensor<i64>
}
}
// fault 1: index out of bounds at found/sum-of-products-after-a-fault.acc:5:74
// fault 2: division by zero at found/sum-of-products-after-a-fault.acc:6:35

// ---- permute/E-PM-11-ranks: xs=4
// main(in0_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<4xi64>) -> (tensor<2x2xi64>, tensor<i64>) {
// generate at permute/E-PM-11-ranks.acc:5:38
// generate at permute/E-PM-11-ranks.acc:5:18
// generate at permute/E-PM-11-ranks.acc:5:73
%1 = stablehlo.constant dense<10> : tensor<i64>
%2 = stablehlo.reshape %1 : (tensor<i64>) -> tensor<1x1xi64>
%3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x1xi64>) -> tensor<2x2xi64>
// permute at permute/E-PM-11-ranks.acc:7:19
%4 = stablehlo.iota dim = 0 : tensor<4xi64>
%5 = stablehlo.constant dense<0> : tensor<i64>
%6 = stablehlo.constant dense<1> : tensor<i64>
%7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i64>) -> tensor<4xi64>
%8 = stablehlo.multiply %4, %7 : tensor<4xi64>
%9 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i64>) -> tensor<4xi64>
%10 = stablehlo.add %8, %9 : tensor<4xi64>
%11 = stablehlo.constant dense<2> : tensor<i64>
%12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<i64>) -> tensor<4xi64>
%13 = stablehlo.compare LT, %10, %12, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
// permute at permute/E-PM-11-ranks.acc:7:16
%14 = stablehlo.constant dense<0> : tensor<i64>
%15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<i64>) -> tensor<4xi64>
%16 = stablehlo.select %13, %10, %15 : tensor<4xi1>, tensor<4xi64>
%17 = stablehlo.constant dense<2> : tensor<i64>
%18 = stablehlo.constant dense<0> : tensor<i64>
%19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<i64>) -> tensor<4xi64>
%20 = stablehlo.compare LT, %16, %19, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
%21 = stablehlo.broadcast_in_dim %17, dims = [] : (tensor<i64>) -> tensor<4xi64>
%22 = stablehlo.compare GE, %16, %21, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
%23 = stablehlo.or %20, %22 : tensor<4xi1>
%24 = stablehlo.constant dense<false> : tensor<i1>
%28 = "stablehlo.reduce"(%23, %24) <{dimensions = array<i64: 0>}> ({
^bb0(%25: tensor<i1>, %26: tensor<i1>):
%27 = stablehlo.or %25, %26 : tensor<i1>
"stablehlo.return"(%27) : (tensor<i1>) -> ()
}) : (tensor<4xi1>, tensor<i1>) -> (tensor<i1>)
%29 = stablehlo.constant dense<1> : tensor<i64>
%30 = stablehlo.constant dense<0> : tensor<i64>
%31 = stablehlo.select %28, %29, %30 : tensor<i1>, tensor<i64>
%32 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<i64>) -> tensor<4xi64>
%33 = stablehlo.multiply %16, %32 : tensor<4xi64>
%34 = stablehlo.add %33, %16 : tensor<4xi64>
%35 = stablehlo.constant dense<4> : tensor<i64>
%36 = stablehlo.broadcast_in_dim %35, dims = [] : (tensor<i64>) -> tensor<4xi64>
%37 = stablehlo.select %13, %34, %36 : tensor<4xi1>, tensor<4xi64>
%38 = stablehlo.reshape %3 : (tensor<2x2xi64>) -> tensor<4xi64>
%39 = stablehlo.reshape %14 : (tensor<i64>) -> tensor<1xi64>
%40 = stablehlo.concatenate %38, %39, dim = 0 : (tensor<4xi64>, tensor<1xi64>) -> tensor<5xi64>
%41 = stablehlo.constant dense<-1> : tensor<i64>
%42 = stablehlo.constant dense<5> : tensor<i64>
%43 = stablehlo.broadcast_in_dim %41, dims = [] : (tensor<i64>) -> tensor<4xi64>
%44 = stablehlo.maximum %37, %43 : tensor<4xi64>
%45 = stablehlo.broadcast_in_dim %42, dims = [] : (tensor<i64>) -> tensor<4xi64>
%46 = stablehlo.minimum %44, %45 : tensor<4xi64>
%47 = stablehlo.convert %46 : (tensor<4xi64>) -> tensor<4xi32>
%48 = stablehlo.reshape %47 : (tensor<4xi32>) -> tensor<4x1xi32>
%52 = "stablehlo.scatter"(%40, %48, %0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
^bb0(%49: tensor<i64>, %50: tensor<i64>):
%51 = stablehlo.add %49, %50 : tensor<i64>
"stablehlo.return"(%51) : (tensor<i64>) -> ()
}) : (tensor<5xi64>, tensor<4x1xi32>, tensor<4xi64>) -> (tensor<5xi64>)
%53 = stablehlo.slice %52 [0:4:1] : (tensor<5xi64>) -> tensor<4xi64>
%54 = stablehlo.reshape %53 : (tensor<4xi64>) -> tensor<2x2xi64>
return %54, %31 : tensor<2x2xi64>, tensor<i64>
}
}
// fault 1: index out of bounds at permute/E-PM-11-ranks.acc:7:16

// ---- scalar/E-CV-13-bitcast-and-chars: a=2,b=2,c=2,d=2
// main(in0_0, in1_0, in2_0, in3_0) -> (out0_0, out0_1, out1_0, out1_1, out2_0, out2_1, out2_2, out3_0, fault)
module @acc {
func.func public @main(%0: tensor<2xf32>, %1: tensor<2xi64>, %2: tensor<2xui32>, %3: tensor<2xui32>) -> (tensor<2xui32>, tensor<2xi32>, tensor<2xf64>, tensor<2xui64>, tensor<2xui32>, tensor<2xi1>, tensor<2xui32>, tensor<2xui32>, tensor<i64>) {
// map at scalar/E-CV-13-bitcast-and-chars.acc:5:43
%4 = stablehlo.bitcast_convert %0 : (tensor<2xf32>) -> tensor<2xui32>
// map at scalar/E-CV-13-bitcast-and-chars.acc:5:61
%5 = stablehlo.bitcast_convert %0 : (tensor<2xf32>) -> tensor<2xi32>
// map at scalar/E-CV-13-bitcast-and-chars.acc:6:43
%6 = stablehlo.bitcast_convert %1 : (tensor<2xi64>) -> tensor<2xf64>
// map at scalar/E-CV-13-bitcast-and-chars.acc:6:61
%7 = stablehlo.bitcast_convert %1 : (tensor<2xi64>) -> tensor<2xui64>
// map at scalar/E-CV-13-bitcast-and-chars.acc:7:51
// map at scalar/E-CV-13-bitcast-and-chars.acc:7:73
%8 = stablehlo.constant dense<98> : tensor<ui32>
// map at scalar/E-CV-13-bitcast-and-chars.acc:7:66
%9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<ui32>) -> tensor<2xui32>
%10 = stablehlo.compare LT, %2, %9, UNSIGNED : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xi1>
// map at scalar/E-CV-13-bitcast-and-chars.acc:7:87
%11 = stablehlo.constant dense<109> : tensor<ui32>
// map at scalar/E-CV-13-bitcast-and-chars.acc:7:79
%12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<ui32>) -> tensor<2xui32>
%13 = stablehlo.minimum %2, %12 : tensor<2xui32>
// map at scalar/E-CV-13-bitcast-and-chars.acc:8:36
%14 = stablehlo.constant dense<1114111> : tensor<ui32>
%15 = stablehlo.constant dense<55295> : tensor<ui32>
%16 = stablehlo.constant dense<57344> : tensor<ui32>
%17 = stablehlo.constant dense<65533> : tensor<ui32>
%18 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<ui32>) -> tensor<2xui32>
%19 = stablehlo.compare GT, %3, %18, UNSIGNED : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xi1>
%20 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<ui32>) -> tensor<2xui32>
%21 = stablehlo.compare GT, %3, %20, UNSIGNED : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xi1>
%22 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<ui32>) -> tensor<2xui32>
%23 = stablehlo.compare LT, %3, %22, UNSIGNED : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xi1>
%24 = stablehlo.and %21, %23 : tensor<2xi1>
%25 = stablehlo.or %19, %24 : tensor<2xi1>
%26 = stablehlo.broadcast_in_dim %17, dims = [] : (tensor<ui32>) -> tensor<2xui32>
%27 = stablehlo.select %25, %26, %3 : tensor<2xi1>, tensor<2xui32>
%28 = stablehlo.constant dense<0> : tensor<i64>
return %4, %5, %6, %7, %2, %10, %13, %27, %28 : tensor<2xui32>, tensor<2xi32>, tensor<2xf64>, tensor<2xui64>, tensor<2xui32>, tensor<2xi1>, tensor<2xui32>, tensor<2xui32>, tensor<i64>
}
}

// ---- scan/floats: xs=4
// main(in0_0) -> (out0_0, out1_0, fault)
module @acc {
func.func public @main(%0: tensor<4xf32>) -> (tensor<5xf32>, tensor<4xf32>, tensor<i64>) {
// scanl at scan/floats.acc:5:69
%1 = stablehlo.constant dense<0x3F800000> : tensor<f32>
%5 = "stablehlo.reduce_window"(%0, %1) <{window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>}> ({
^bb0(%2: tensor<f32>, %3: tensor<f32>):
%4 = stablehlo.multiply %2, %3 : tensor<f32>
"stablehlo.return"(%4) : (tensor<f32>) -> ()
}) : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>)
%6 = stablehlo.constant dense<0x3F800000> : tensor<1xf32>
%7 = stablehlo.concatenate %6, %5, dim = 0 : (tensor<1xf32>, tensor<4xf32>) -> tensor<5xf32>
// scanr1 at scan/floats.acc:6:15
%8 = stablehlo.reverse %0, dims = [0] : tensor<4xf32>
%9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
%13 = "stablehlo.reduce_window"(%8, %9) <{window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>}> ({
^bb0(%10: tensor<f32>, %11: tensor<f32>):
%12 = stablehlo.maximum %10, %11 : tensor<f32>
"stablehlo.return"(%12) : (tensor<f32>) -> ()
}) : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>)
%14 = stablehlo.reverse %13, dims = [0] : tensor<4xf32>
%15 = stablehlo.constant dense<0> : tensor<i64>
return %7, %14, %15 : tensor<5xf32>, tensor<4xf32>, tensor<i64>
}
}

// ---- sort/checked: xs=4,most=9
// main(in0_0, in1_0) -> (out0_0, out1_0, out2_0, fault)
module @acc {
func.func public @main(%0: tensor<4xf32>, %1: tensor<i64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi64>, tensor<i64>) {
// argsort at sort/checked.acc:3:19
%2 = stablehlo.iota dim = 0 : tensor<4xi64>
%12:2 = "stablehlo.sort"(%0, %2) <{dimension = 0 : i64, is_stable = true}> ({
^bb0(%3: tensor<f32>, %4: tensor<f32>, %5: tensor<i64>, %6: tensor<i64>):
%7 = stablehlo.compare LT, %3, %4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%8 = stablehlo.compare EQ, %3, %3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%9 = stablehlo.compare NE, %4, %4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%10 = stablehlo.and %8, %9 : tensor<i1>
%11 = stablehlo.or %7, %10 : tensor<i1>
"stablehlo.return"(%11) : (tensor<i1>) -> ()
}) : (tensor<4xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>)
// check at sort/checked.acc:4:53
// check at sort/checked.acc:4:35
// map at sort/checked.acc:5:44
%13 = stablehlo.constant dense<false> : tensor<i1>
// map at sort/checked.acc:5:20
%14 = stablehlo.constant dense<0> : tensor<i64>
return %12#0, %12#0, %12#1, %14 : tensor<4xf32>, tensor<4xf32>, tensor<4xi64>, tensor<i64>
}
}
// fault 1: {} elements, at most {} at sort/checked.acc:5:44

// ---- structure/graph/3-point-stencil: a0=5
// main(in0_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<5xf32>) -> (tensor<5xf32>, tensor<i64>) {
// stencil at structure/graph/3-point-stencil.acc:2:16
%1 = stablehlo.slice %0 [0:1:1] : (tensor<5xf32>) -> tensor<1xf32>
%2 = stablehlo.slice %0 [4:5:1] : (tensor<5xf32>) -> tensor<1xf32>
%3 = stablehlo.concatenate %1, %0, %2, dim = 0 : (tensor<1xf32>, tensor<5xf32>, tensor<1xf32>) -> tensor<7xf32>
%4 = stablehlo.slice %3 [0:5:1] : (tensor<7xf32>) -> tensor<5xf32>
%5 = stablehlo.slice %3 [1:6:1] : (tensor<7xf32>) -> tensor<5xf32>
%6 = stablehlo.slice %3 [2:7:1] : (tensor<7xf32>) -> tensor<5xf32>
// stencil at structure/graph/3-point-stencil.acc:3:15
%7 = stablehlo.add %4, %5 : tensor<5xf32>
// stencil at structure/graph/3-point-stencil.acc:4:15
%8 = stablehlo.add %6, %7 : tensor<5xf32>
%9 = stablehlo.constant dense<0> : tensor<i64>
return %8, %9 : tensor<5xf32>, tensor<i64>
}
}

// ---- structure/graph/arg-max: a0=4
// main(in0_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<4xf32>) -> (tensor<i64>, tensor<i64>) {
// imap at structure/graph/arg-max.acc:2:23
// fold1 at structure/graph/arg-max.acc:3:23
%1 = stablehlo.constant dense<false> : tensor<i1>
%2 = stablehlo.iota dim = 0 : tensor<4xi64>
%3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
%4 = stablehlo.constant dense<9223372036854775807> : tensor<i64>
%23:2 = "stablehlo.reduce"(%0, %2, %3, %4) <{dimensions = array<i64: 0>}> ({
^bb0(%5: tensor<f32>, %6: tensor<i64>, %7: tensor<f32>, %8: tensor<i64>):
%9 = stablehlo.compare GT, %5, %7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%10 = stablehlo.compare EQ, %5, %7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%11 = stablehlo.compare NE, %5, %5, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%12 = stablehlo.compare EQ, %7, %7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%13 = stablehlo.not %12 : tensor<i1>
%14 = stablehlo.and %11, %12 : tensor<i1>
%15 = stablehlo.or %9, %14 : tensor<i1>
%16 = stablehlo.and %11, %13 : tensor<i1>
%17 = stablehlo.or %10, %16 : tensor<i1>
%18 = stablehlo.compare LT, %6, %8, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%19 = stablehlo.and %17, %18 : tensor<i1>
%20 = stablehlo.or %15, %19 : tensor<i1>
%21 = stablehlo.select %20, %5, %7 : tensor<i1>, tensor<f32>
%22 = stablehlo.select %20, %6, %8 : tensor<i1>, tensor<i64>
"stablehlo.return"(%21, %22) : (tensor<f32>, tensor<i64>) -> ()
}) : (tensor<4xf32>, tensor<4xi64>, tensor<f32>, tensor<i64>) -> (tensor<f32>, tensor<i64>)
%24 = stablehlo.constant dense<0> : tensor<i64>
return %23#1, %24 : tensor<i64>, tensor<i64>
}
}
// fault 1: empty fold at structure/graph/arg-max.acc:3:23

// ---- structure/graph/clip-variant: a0=4
// main(in0_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>) {
// map at structure/graph/clip-variant.acc:9:15
%1 = stablehlo.constant dense<0x3E800000> : tensor<f32>
%2 = stablehlo.constant dense<0x3F400000> : tensor<f32>
%3 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<4xf32>
%4 = stablehlo.maximum %0, %3 : tensor<4xf32>
%5 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<4xf32>
%6 = stablehlo.minimum %4, %5 : tensor<4xf32>
%7 = stablehlo.constant dense<0> : tensor<i64>
return %6, %7 : tensor<4xf32>, tensor<i64>
}
}

// ---- structure/graph/convolution-of-a-row: x=6,k=3
// main(in0_0, in1_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<6xf32>, %1: tensor<3xf32>) -> (tensor<4xf32>, tensor<i64>) {
// generate at structure/graph/convolution-of-a-row.acc:2:39
// generate at structure/graph/convolution-of-a-row.acc:2:72
// generate at structure/graph/convolution-of-a-row.acc:2:35
// generate at structure/graph/convolution-of-a-row.acc:2:15
%2 = stablehlo.constant dense<false> : tensor<i1>
%3 = stablehlo.constant dense<false> : tensor<i1>
// generate at structure/graph/convolution-of-a-row.acc:2:120
%4 = stablehlo.constant dense<false> : tensor<i1>
// generate at structure/graph/convolution-of-a-row.acc:2:15
// fold at structure/graph/convolution-of-a-row.acc:3:68
%5 = stablehlo.reshape %0 : (tensor<6xf32>) -> tensor<1x1x1x6xf32>
%6 = stablehlo.reshape %1 : (tensor<3xf32>) -> tensor<1x1x1x3xf32>
%7 = stablehlo.reshape %5 : (tensor<1x1x1x6xf32>) -> tensor<1x1x6xf32>
%8 = stablehlo.reshape %6 : (tensor<1x1x1x3xf32>) -> tensor<1x1x3xf32>
%9 = "stablehlo.convolution"(%7, %8) <{window_strides = array<i64: 1>, rhs_dilation = array<i64: 1>, dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<1x1x6xf32>, tensor<1x1x3xf32>) -> (tensor<1x1x4xf32>)
%10 = stablehlo.reshape %9 : (tensor<1x1x4xf32>) -> tensor<1x1x1x4xf32>
%11 = stablehlo.reshape %10 : (tensor<1x1x1x4xf32>) -> tensor<4xf32>
%12 = stablehlo.constant dense<0> : tensor<i64>
return %11, %12 : tensor<4xf32>, tensor<i64>
}
}
// fault 1: negative extent at structure/graph/convolution-of-a-row.acc:2:15
// fault 2: shape overflow at structure/graph/convolution-of-a-row.acc:2:15
// fault 3: index out of bounds at structure/graph/convolution-of-a-row.acc:2:120

// ---- backpermute/E-PM-14-gather: ix=2x2,xs=4
// main(in0_0, in1_0, in1_1) -> (out0_0, out0_1, fault)
module @acc {
func.func public @main(%0: tensor<2x2xi64>, %1: tensor<4xi64>, %2: tensor<4xf32>) -> (tensor<2x2xi64>, tensor<2x2xf32>, tensor<i64>) {
// backpermute at backpermute/E-PM-14-gather.acc:5:22
%3 = stablehlo.constant dense<4> : tensor<i64>
%4 = stablehlo.constant dense<0> : tensor<i64>
%5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i64>) -> tensor<2x2xi64>
%6 = stablehlo.compare LT, %0, %5, SIGNED : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x2xi1>
%7 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i64>) -> tensor<2x2xi64>
%8 = stablehlo.compare GE, %0, %7, SIGNED : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x2xi1>
%9 = stablehlo.or %6, %8 : tensor<2x2xi1>
%10 = stablehlo.reshape %9 : (tensor<2x2xi1>) -> tensor<4xi1>
%11 = stablehlo.constant dense<false> : tensor<i1>
%15 = "stablehlo.reduce"(%10, %11) <{dimensions = array<i64: 0>}> ({
^bb0(%12: tensor<i1>, %13: tensor<i1>):
%14 = stablehlo.or %12, %13 : tensor<i1>
"stablehlo.return"(%14) : (tensor<i1>) -> ()
}) : (tensor<4xi1>, tensor<i1>) -> (tensor<i1>)
%16 = stablehlo.constant dense<1> : tensor<i64>
%17 = stablehlo.constant dense<0> : tensor<i64>
%18 = stablehlo.select %15, %16, %17 : tensor<i1>, tensor<i64>
%19 = stablehlo.reshape %0 : (tensor<2x2xi64>) -> tensor<2x2x1xi64>
%20 = "stablehlo.gather"(%1, %19) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<4xi64>, tensor<2x2x1xi64>) -> (tensor<2x2xi64>)
%21 = stablehlo.reshape %0 : (tensor<2x2xi64>) -> tensor<2x2x1xi64>
%22 = "stablehlo.gather"(%2, %21) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<4xf32>, tensor<2x2x1xi64>) -> (tensor<2x2xf32>)
return %20, %22, %18 : tensor<2x2xi64>, tensor<2x2xf32>, tensor<i64>
}
}
// fault 1: index out of bounds at backpermute/E-PM-14-gather.acc:5:22

// ---- structure/graph/guarded-read: a0=3,a1=4
// main(in0_0, in1_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<3xi64>, %1: tensor<4xf32>) -> (tensor<3xf32>, tensor<i64>) {
// map at structure/graph/guarded-read.acc:4:16
%2 = stablehlo.constant dense<2> : tensor<i64>
%3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i64>) -> tensor<3xi64>
%4 = stablehlo.compare LT, %0, %3, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
// map at structure/graph/guarded-read.acc:6:17
%5 = stablehlo.constant dense<4> : tensor<i64>
%6 = stablehlo.constant dense<0> : tensor<i64>
%7 = stablehlo.constant dense<1> : tensor<i64>
%8 = stablehlo.subtract %5, %7 : tensor<i64>
%9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<i64>) -> tensor<3xi64>
%10 = stablehlo.minimum %0, %9 : tensor<3xi64>
%11 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i64>) -> tensor<3xi64>
%12 = stablehlo.maximum %10, %11 : tensor<3xi64>
%13 = stablehlo.compare NE, %0, %12, SIGNED : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
%14 = stablehlo.and %4, %13 : tensor<3xi1>
%15 = stablehlo.constant dense<false> : tensor<i1>
%19 = "stablehlo.reduce"(%14, %15) <{dimensions = array<i64: 0>}> ({
^bb0(%16: tensor<i1>, %17: tensor<i1>):
%18 = stablehlo.or %16, %17 : tensor<i1>
"stablehlo.return"(%18) : (tensor<i1>) -> ()
}) : (tensor<3xi1>, tensor<i1>) -> (tensor<i1>)
%20 = stablehlo.constant dense<1> : tensor<i64>
%21 = stablehlo.constant dense<0> : tensor<i64>
%22 = stablehlo.select %19, %20, %21 : tensor<i1>, tensor<i64>
%23 = stablehlo.reshape %12 : (tensor<3xi64>) -> tensor<3x1xi64>
%24 = "stablehlo.gather"(%1, %23) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<4xf32>, tensor<3x1xi64>) -> (tensor<3xf32>)
// map at structure/graph/guarded-read.acc:9:17
%25 = stablehlo.constant dense<0x00000000> : tensor<f32>
%26 = stablehlo.broadcast_in_dim %25, dims = [] : (tensor<f32>) -> tensor<3xf32>
%27 = stablehlo.select %4, %24, %26 : tensor<3xi1>, tensor<3xf32>
// map at structure/graph/guarded-read.acc:2:16
return %27, %22 : tensor<3xf32>, tensor<i64>
}
}
// fault 1: index out of bounds at structure/graph/guarded-read.acc:6:17

// ---- structure/graph/logarithm-of-softmax-variant: a0=2x3
// main(in0_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<i64>) {
// imap at structure/graph/logarithm-of-softmax-variant.acc:26:15
%1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
%5 = "stablehlo.reduce"(%0, %1) <{dimensions = array<i64: 1>}> ({
^bb0(%2: tensor<f32>, %3: tensor<f32>):
%4 = stablehlo.maximum %2, %3 : tensor<f32>
"stablehlo.return"(%4) : (tensor<f32>) -> ()
}) : (tensor<2x3xf32>, tensor<f32>) -> (tensor<2xf32>)
%6 = stablehlo.reshape %5 : (tensor<2xf32>) -> tensor<2x1xf32>
%7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3xf32>
%8 = stablehlo.subtract %0, %7 : tensor<2x3xf32>
%9 = stablehlo.exponential %8 : tensor<2x3xf32>
%10 = stablehlo.constant dense<0x00000000> : tensor<f32>
%14 = "stablehlo.reduce"(%9, %10) <{dimensions = array<i64: 1>}> ({
^bb0(%11: tensor<f32>, %12: tensor<f32>):
%13 = stablehlo.add %11, %12 : tensor<f32>
"stablehlo.return"(%13) : (tensor<f32>) -> ()
}) : (tensor<2x3xf32>, tensor<f32>) -> (tensor<2xf32>)
%15 = stablehlo.reshape %14 : (tensor<2xf32>) -> tensor<2x1xf32>
%16 = stablehlo.log %15 : tensor<2x1xf32>
%17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3xf32>
%18 = stablehlo.subtract %8, %17 : tensor<2x3xf32>
%19 = stablehlo.constant dense<0> : tensor<i64>
return %18, %19 : tensor<2x3xf32>, tensor<i64>
}
}

// ---- structure/graph/matrix-product: a0=2x3,a1=3x4
// main(in0_0, in1_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<2x3xf32>, %1: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<i64>) {
// replicate at structure/graph/matrix-product.acc:3:15
// replicate at structure/graph/matrix-product.acc:2:16
%2 = stablehlo.constant dense<false> : tensor<i1>
%3 = stablehlo.reshape %0 : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
%4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<2x1x3xf32>) -> tensor<2x4x3xf32>
// backpermute at structure/graph/matrix-product.acc:6:16
%5 = stablehlo.transpose %1, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
// replicate at structure/graph/matrix-product.acc:11:16
%6 = stablehlo.constant dense<false> : tensor<i1>
%7 = stablehlo.reshape %5 : (tensor<4x3xf32>) -> tensor<1x4x3xf32>
%8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<1x4x3xf32>) -> tensor<2x4x3xf32>
// zip_with at structure/graph/matrix-product.acc:15:16
// fold at structure/graph/matrix-product.acc:23:15
%9 = stablehlo.dot_general %4, %8, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [HIGHEST, HIGHEST] : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4xf32>
%10 = stablehlo.constant dense<0> : tensor<i64>
return %9, %10 : tensor<2x4xf32>, tensor<i64>
}
}
// fault 1: shape overflow at structure/graph/matrix-product.acc:2:16
// fault 2: shape overflow at structure/graph/matrix-product.acc:11:16

// ---- structure/graph/mean: a0=4
// main(in0_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<4xf32>) -> (tensor<f32>, tensor<i64>) {
// fold at structure/graph/mean.acc:6:15
%1 = stablehlo.constant dense<0x00000000> : tensor<f32>
%5 = "stablehlo.reduce"(%0, %1) <{dimensions = array<i64: 0>}> ({
^bb0(%2: tensor<f32>, %3: tensor<f32>):
%4 = stablehlo.add %2, %3 : tensor<f32>
"stablehlo.return"(%4) : (tensor<f32>) -> ()
}) : (tensor<4xf32>, tensor<f32>) -> (tensor<f32>)
// map at structure/graph/mean.acc:11:15
%6 = stablehlo.constant dense<4> : tensor<i64>
%7 = stablehlo.convert %6 : (tensor<i64>) -> tensor<f32>
// map at structure/graph/mean.acc:12:15
%8 = stablehlo.divide %5, %7 : tensor<f32>
%9 = stablehlo.constant dense<0> : tensor<i64>
return %8, %9 : tensor<f32>, tensor<i64>
}
}

// ---- structure/graph/normalised-rows-variant: a0=2x3
// main(in0_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<i64>) {
// zip_with at structure/graph/normalised-rows-variant.acc:62:15
%1 = stablehlo.constant dense<3> : tensor<i64>
%2 = stablehlo.convert %1 : (tensor<i64>) -> tensor<f32>
%3 = stablehlo.constant dense<0x00000000> : tensor<f32>
%7 = "stablehlo.reduce"(%0, %3) <{dimensions = array<i64: 1>}> ({
^bb0(%4: tensor<f32>, %5: tensor<f32>):
%6 = stablehlo.add %4, %5 : tensor<f32>
"stablehlo.return"(%6) : (tensor<f32>) -> ()
}) : (tensor<2x3xf32>, tensor<f32>) -> (tensor<2xf32>)
%8 = stablehlo.reshape %7 : (tensor<2xf32>) -> tensor<2x1xf32>
%9 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<2x1xf32>
%10 = stablehlo.divide %8, %9 : tensor<2x1xf32>
%11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3xf32>
%12 = stablehlo.subtract %0, %11 : tensor<2x3xf32>
%13 = stablehlo.multiply %12, %12 : tensor<2x3xf32>
%14 = stablehlo.constant dense<0x00000000> : tensor<f32>
%18 = "stablehlo.reduce"(%13, %14) <{dimensions = array<i64: 1>}> ({
^bb0(%15: tensor<f32>, %16: tensor<f32>):
%17 = stablehlo.add %15, %16 : tensor<f32>
"stablehlo.return"(%17) : (tensor<f32>) -> ()
}) : (tensor<2x3xf32>, tensor<f32>) -> (tensor<2xf32>)
%19 = stablehlo.reshape %18 : (tensor<2xf32>) -> tensor<2x1xf32>
%20 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<2x1xf32>
%21 = stablehlo.divide %19, %20 : tensor<2x1xf32>
%22 = stablehlo.constant dense<0x3727C5AC> : tensor<f32>
%23 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<f32>) -> tensor<2x1xf32>
%24 = stablehlo.add %21, %23 : tensor<2x1xf32>
%25 = stablehlo.sqrt %24 : tensor<2x1xf32>
%26 = stablehlo.broadcast_in_dim %25, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3xf32>
%27 = stablehlo.divide %12, %26 : tensor<2x3xf32>
%28 = stablehlo.constant dense<0> : tensor<i64>
return %27, %28 : tensor<2x3xf32>, tensor<i64>
}
}

// ---- structure/graph/recurrence-by-a-loop-variant: a0=4
// main(in0_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>) {
// map at structure/graph/recurrence-by-a-loop-variant.acc:3:15
// map at structure/graph/recurrence-by-a-loop-variant.acc:6:24
// map at structure/graph/recurrence-by-a-loop-variant.acc:7:18
// map at structure/graph/recurrence-by-a-loop-variant.acc:6:24
%1 = stablehlo.constant dense<true> : tensor<i1>
%2 = stablehlo.reshape %1 : (tensor<i1>) -> tensor<1xi1>
// map at structure/graph/recurrence-by-a-loop-variant.acc:7:18
%3 = stablehlo.constant dense<false> : tensor<i1>
%7 = "stablehlo.reduce"(%2, %3) <{dimensions = array<i64: 0>}> ({
^bb0(%4: tensor<i1>, %5: tensor<i1>):
%6 = stablehlo.or %4, %5 : tensor<i1>
"stablehlo.return"(%6) : (tensor<i1>) -> ()
}) : (tensor<1xi1>, tensor<i1>) -> (tensor<i1>)
%8 = stablehlo.constant dense<0> : tensor<i64>
%31 = stablehlo.constant dense<0> : tensor<i64>
%32 = stablehlo.constant dense<0> : tensor<i64>
%110:5 = "stablehlo.while"(%2, %0, %31, %7, %32) ({
^bb0(%33: tensor<1xi1>, %34: tensor<4xf32>, %35: tensor<i64>, %36: tensor<i1>, %37: tensor<i64>):
%38 = stablehlo.constant dense<0> : tensor<i64>
%39 = stablehlo.compare EQ, %37, %38, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%40 = stablehlo.and %36, %39 : tensor<i1>
"stablehlo.return"(%40) : (tensor<i1>) -> ()
}, {
^bb0(%41: tensor<1xi1>, %42: tensor<4xf32>, %43: tensor<i64>, %44: tensor<i1>, %45: tensor<i64>):
// map at structure/graph/recurrence-by-a-loop-variant.acc:10:18
// map at structure/graph/recurrence-by-a-loop-variant.acc:5:15
// map at structure/graph/recurrence-by-a-loop-variant.acc:10:18
%46 = stablehlo.constant dense<0> : tensor<i64>
%47 = stablehlo.compare LT, %43, %46, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%48 = stablehlo.convert %47 : (tensor<i1>) -> tensor<i64>
%49 = stablehlo.constant dense<3> : tensor<i64>
%50 = stablehlo.compare LT, %49, %43, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%51 = stablehlo.convert %50 : (tensor<i1>) -> tensor<i64>
%52 = stablehlo.maximum %48, %51 : tensor<i64>
%53 = stablehlo.constant dense<3> : tensor<i64>
%54 = stablehlo.minimum %43, %53 : tensor<i64>
%55 = stablehlo.constant dense<0> : tensor<i64>
%56 = stablehlo.maximum %54, %55 : tensor<i64>
%57 = stablehlo.constant dense<0> : tensor<i64>
%58 = stablehlo.compare NE, %52, %57, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%68 = stablehlo.optimization_barrier %58 : tensor<i1>
%69:2 = "stablehlo.if"(%68) ({
%59 = stablehlo.constant dense<false> : tensor<i1>
%63 = "stablehlo.reduce"(%41, %59) <{dimensions = array<i64: 0>}> ({
^bb0(%60: tensor<i1>, %61: tensor<i1>):
%62 = stablehlo.or %60, %61 : tensor<i1>
"stablehlo.return"(%62) : (tensor<i1>) -> ()
}) : (tensor<1xi1>, tensor<i1>) -> (tensor<i1>)
%64 = stablehlo.convert %63 : (tensor<i1>) -> tensor<i64>
%65 = stablehlo.constant dense<0> : tensor<i64>
"stablehlo.return"(%64, %65) : (tensor<i64>, tensor<i64>) -> ()
}, {
%66 = stablehlo.constant dense<0> : tensor<i64>
%67 = stablehlo.constant dense<0> : tensor<i64>
"stablehlo.return"(%66, %67) : (tensor<i64>, tensor<i64>) -> ()
}) : (tensor<i1>) -> (tensor<i64>, tensor<i64>)
%70 = stablehlo.constant dense<0> : tensor<i64>
%71 = stablehlo.compare NE, %69#0, %70, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%72 = stablehlo.constant dense<1> : tensor<i64>
%73 = stablehlo.constant dense<0> : tensor<i64>
%74 = stablehlo.select %71, %72, %73 : tensor<i1>, tensor<i64>
%75 = stablehlo.constant dense<0> : tensor<i64>
%76 = stablehlo.compare EQ, %69#1, %75, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%77 = stablehlo.select %76, %74, %69#1 : tensor<i1>, tensor<i64>
%78 = stablehlo.constant dense<0> : tensor<i64>
%79 = "stablehlo.dynamic_slice"(%0, %56) <{slice_sizes = array<i64: 1>}> : (tensor<4xf32>, tensor<i64>) -> (tensor<1xf32>)
%80 = stablehlo.constant dense<4> : tensor<i64>
%81 = stablehlo.constant dense<0> : tensor<i64>
%82 = stablehlo.compare LT, %56, %81, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%83 = stablehlo.compare GE, %56, %80, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%84 = stablehlo.or %82, %83 : tensor<i1>
%85 = stablehlo.constant dense<0x00000000> : tensor<f32>
%86 = stablehlo.broadcast_in_dim %84, dims = [] : (tensor<i1>) -> tensor<1xi1>
%87 = stablehlo.broadcast_in_dim %85, dims = [] : (tensor<f32>) -> tensor<1xf32>
%88 = stablehlo.select %86, %87, %79 : tensor<1xi1>, tensor<1xf32>
%89 = stablehlo.reshape %88 : (tensor<1xf32>) -> tensor<f32>
// map at structure/graph/recurrence-by-a-loop-variant.acc:11:18
%90 = stablehlo.multiply %42, %42 : tensor<4xf32>
// map at structure/graph/recurrence-by-a-loop-variant.acc:12:18
%91 = stablehlo.broadcast_in_dim %89, dims = [] : (tensor<f32>) -> tensor<4xf32>
%92 = stablehlo.add %91, %90 : tensor<4xf32>
// map at structure/graph/recurrence-by-a-loop-variant.acc:13:18
%93 = stablehlo.constant dense<1> : tensor<i64>
%94 = stablehlo.add %93, %43 : tensor<i64>
// map at structure/graph/recurrence-by-a-loop-variant.acc:7:18
// map at structure/graph/recurrence-by-a-loop-variant.acc:4:15
%95 = stablehlo.constant dense<4> : tensor<i64>
%96 = stablehlo.compare LT, %94, %95, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%97 = stablehlo.convert %96 : (tensor<i1>) -> tensor<i64>
// map at structure/graph/recurrence-by-a-loop-variant.acc:7:18
%98 = stablehlo.constant dense<0> : tensor<i64>
%99 = stablehlo.compare NE, %97, %98, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%100 = stablehlo.broadcast_in_dim %99, dims = [] : (tensor<i1>) -> tensor<1xi1>
%101 = stablehlo.and %41, %100 : tensor<1xi1>
%102 = stablehlo.constant dense<false> : tensor<i1>
%106 = "stablehlo.reduce"(%101, %102) <{dimensions = array<i64: 0>}> ({
^bb0(%103: tensor<i1>, %104: tensor<i1>):
%105 = stablehlo.or %103, %104 : tensor<i1>
"stablehlo.return"(%105) : (tensor<i1>) -> ()
}) : (tensor<1xi1>, tensor<i1>) -> (tensor<i1>)
%107 = stablehlo.constant dense<0> : tensor<i64>
%108 = stablehlo.compare EQ, %45, %107, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
%109 = stablehlo.select %108, %77, %45 : tensor<i1>, tensor<i64>
"stablehlo.return"(%101, %92, %94, %106, %109) : (tensor<1xi1>, tensor<4xf32>, tensor<i64>, tensor<i1>, tensor<i64>) -> ()
}) : (tensor<1xi1>, tensor<4xf32>, tensor<i64>, tensor<i1>, tensor<i64>) -> (tensor<1xi1>, tensor<4xf32>, tensor<i64>, tensor<i1>, tensor<i64>)
// map at structure/graph/recurrence-by-a-loop-variant.acc:2:16
return %110#1, %110#4 : tensor<4xf32>, tensor<i64>
}
}
// fault 1: index out of bounds at structure/graph/recurrence-by-a-loop-variant.acc:10:18

// ---- structure/graph/scan-that-restarts-at-marks-variant: a0=5
// main(in0_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<5xf32>) -> (tensor<5xf32>, tensor<i64>) {
// map at structure/graph/scan-that-restarts-at-marks-variant.acc:3:15
%1 = stablehlo.constant dense<0x3F800000> : tensor<f32>
// map at structure/graph/scan-that-restarts-at-marks-variant.acc:4:16
%2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<5xf32>
%3 = stablehlo.compare GT, %0, %2, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
// scanl1 at structure/graph/scan-that-restarts-at-marks-variant.acc:7:24
%4 = stablehlo.slice %3 [0:4:2] : (tensor<5xi1>) -> tensor<2xi1>
%5 = stablehlo.slice %0 [0:4:2] : (tensor<5xf32>) -> tensor<2xf32>
%6 = stablehlo.slice %3 [1:5:2] : (tensor<5xi1>) -> tensor<2xi1>
%7 = stablehlo.slice %0 [1:5:2] : (tensor<5xf32>) -> tensor<2xf32>
%8 = stablehlo.add %5, %7 : tensor<2xf32>
%9 = stablehlo.or %4, %6 : tensor<2xi1>
%10 = stablehlo.select %6, %7, %8 : tensor<2xi1>, tensor<2xf32>
%11 = stablehlo.slice %9 [0:2:2] : (tensor<2xi1>) -> tensor<1xi1>
%12 = stablehlo.slice %10 [0:2:2] : (tensor<2xf32>) -> tensor<1xf32>
%13 = stablehlo.slice %9 [1:2:2] : (tensor<2xi1>) -> tensor<1xi1>
%14 = stablehlo.slice %10 [1:2:2] : (tensor<2xf32>) -> tensor<1xf32>
%15 = stablehlo.add %12, %14 : tensor<1xf32>
%16 = stablehlo.or %11, %13 : tensor<1xi1>
%17 = stablehlo.select %13, %14, %15 : tensor<1xi1>, tensor<1xf32>
%18 = stablehlo.slice %9 [0:1:1] : (tensor<2xi1>) -> tensor<1xi1>
%19 = stablehlo.slice %10 [0:1:1] : (tensor<2xf32>) -> tensor<1xf32>
%20 = stablehlo.reshape %18 : (tensor<1xi1>) -> tensor<1x1xi1>
%21 = stablehlo.reshape %16 : (tensor<1xi1>) -> tensor<1x1xi1>
%22 = stablehlo.concatenate %20, %21, dim = 1 : (tensor<1x1xi1>, tensor<1x1xi1>) -> tensor<1x2xi1>
%23 = stablehlo.reshape %22 : (tensor<1x2xi1>) -> tensor<2xi1>
%24 = stablehlo.slice %18 [1:1:1] : (tensor<1xi1>) -> tensor<0xi1>
%25 = stablehlo.reshape %19 : (tensor<1xf32>) -> tensor<1x1xf32>
%26 = stablehlo.reshape %17 : (tensor<1xf32>) -> tensor<1x1xf32>
%27 = stablehlo.concatenate %25, %26, dim = 1 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
%28 = stablehlo.reshape %27 : (tensor<1x2xf32>) -> tensor<2xf32>
%29 = stablehlo.slice %19 [1:1:1] : (tensor<1xf32>) -> tensor<0xf32>
%30 = stablehlo.slice %3 [0:1:1] : (tensor<5xi1>) -> tensor<1xi1>
%31 = stablehlo.slice %0 [0:1:1] : (tensor<5xf32>) -> tensor<1xf32>
%32 = stablehlo.slice %3 [2:5:2] : (tensor<5xi1>) -> tensor<2xi1>
%33 = stablehlo.slice %0 [2:5:2] : (tensor<5xf32>) -> tensor<2xf32>
%34 = stablehlo.add %28, %33 : tensor<2xf32>
%35 = stablehlo.or %23, %32 : tensor<2xi1>
%36 = stablehlo.select %32, %33, %34 : tensor<2xi1>, tensor<2xf32>
%37 = stablehlo.concatenate %30, %35, dim = 0 : (tensor<1xi1>, tensor<2xi1>) -> tensor<3xi1>
%38 = stablehlo.concatenate %31, %36, dim = 0 : (tensor<1xf32>, tensor<2xf32>) -> tensor<3xf32>
%39 = stablehlo.slice %37 [0:2:1] : (tensor<3xi1>) -> tensor<2xi1>
%40 = stablehlo.reshape %39 : (tensor<2xi1>) -> tensor<2x1xi1>
%41 = stablehlo.reshape %23 : (tensor<2xi1>) -> tensor<2x1xi1>
%42 = stablehlo.concatenate %40, %41, dim = 1 : (tensor<2x1xi1>, tensor<2x1xi1>) -> tensor<2x2xi1>
%43 = stablehlo.reshape %42 : (tensor<2x2xi1>) -> tensor<4xi1>
%44 = stablehlo.slice %37 [2:3:1] : (tensor<3xi1>) -> tensor<1xi1>
%45 = stablehlo.concatenate %43, %44, dim = 0 : (tensor<4xi1>, tensor<1xi1>) -> tensor<5xi1>
%46 = stablehlo.slice %38 [0:2:1] : (tensor<3xf32>) -> tensor<2xf32>
%47 = stablehlo.reshape %46 : (tensor<2xf32>) -> tensor<2x1xf32>
%48 = stablehlo.reshape %28 : (tensor<2xf32>) -> tensor<2x1xf32>
%49 = stablehlo.concatenate %47, %48, dim = 1 : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
%50 = stablehlo.reshape %49 : (tensor<2x2xf32>) -> tensor<4xf32>
%51 = stablehlo.slice %38 [2:3:1] : (tensor<3xf32>) -> tensor<1xf32>
%52 = stablehlo.concatenate %50, %51, dim = 0 : (tensor<4xf32>, tensor<1xf32>) -> tensor<5xf32>
%53 = stablehlo.constant dense<0> : tensor<i64>
return %52, %53 : tensor<5xf32>, tensor<i64>
}
}

// ---- structure/graph/transpose: a0=2x3
// main(in0_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<i64>) {
// backpermute at structure/graph/transpose.acc:2:16
%1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
%2 = stablehlo.constant dense<0> : tensor<i64>
return %1, %2 : tensor<3x2xf32>, tensor<i64>
}
}

// ---- structure/graph/histogram: a0=6,a1=3
// main(in0_0, in1_0) -> (out0_0, fault)
module @acc {
func.func public @main(%0: tensor<6xi64>, %1: tensor<i64>) -> (tensor<3xi64>, tensor<i64>) {
// generate at structure/graph/histogram.acc:3:15
// generate at structure/graph/histogram.acc:2:16
%2 = stablehlo.constant dense<false> : tensor<i1>
%3 = stablehlo.constant dense<false> : tensor<i1>
// generate at structure/graph/histogram.acc:6:15
%4 = stablehlo.constant dense<0> : tensor<i64>
%5 = stablehlo.reshape %4 : (tensor<i64>) -> tensor<1xi64>
%6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<1xi64>) -> tensor<3xi64>
// generate at structure/graph/histogram.acc:2:16
// generate at structure/graph/histogram.acc:13:15
%7 = stablehlo.constant dense<1> : tensor<i64>
%8 = stablehlo.reshape %7 : (tensor<i64>) -> tensor<1xi64>
%9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<1xi64>) -> tensor<6xi64>
// permute at structure/graph/histogram.acc:21:15
%10 = stablehlo.constant dense<3> : tensor<i64>
%11 = stablehlo.constant dense<0> : tensor<i64>
%12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<i64>) -> tensor<6xi64>
%13 = stablehlo.compare LT, %0, %12, SIGNED : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi1>
%14 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<i64>) -> tensor<6xi64>
%15 = stablehlo.compare GE, %0, %14, SIGNED : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi1>
%16 = stablehlo.or %13, %15 : tensor<6xi1>
%17 = stablehlo.constant dense<false> : tensor<i1>
%21 = "stablehlo.reduce"(%16, %17) <{dimensions = array<i64: 0>}> ({
^bb0(%18: tensor<i1>, %19: tensor<i1>):
%20 = stablehlo.or %18, %19 : tensor<i1>
"stablehlo.return"(%20) : (tensor<i1>) -> ()
}) : (tensor<6xi1>, tensor<i1>) -> (tensor<i1>)
%22 = stablehlo.constant dense<3> : tensor<i64>
%23 = stablehlo.constant dense<0> : tensor<i64>
%24 = stablehlo.select %21, %22, %23 : tensor<i1>, tensor<i64>
%25 = stablehlo.constant dense<-1> : tensor<i64>
%26 = stablehlo.constant dense<3> : tensor<i64>
%27 = stablehlo.broadcast_in_dim %25, dims = [] : (tensor<i64>) -> tensor<6xi64>
%28 = stablehlo.maximum %0, %27 : tensor<6xi64>
%29 = stablehlo.broadcast_in_dim %26, dims = [] : (tensor<i64>) -> tensor<6xi64>
%30 = stablehlo.minimum %28, %29 : tensor<6xi64>
%31 = stablehlo.convert %30 : (tensor<6xi64>) -> tensor<6xi32>
%32 = stablehlo.reshape %31 : (tensor<6xi32>) -> tensor<6x1xi32>
%36 = "stablehlo.scatter"(%6, %32, %9) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
^bb0(%33: tensor<i64>, %34: tensor<i64>):
%35 = stablehlo.add %33, %34 : tensor<i64>
"stablehlo.return"(%35) : (tensor<i64>) -> ()
}) : (tensor<3xi64>, tensor<6x1xi32>, tensor<6xi64>) -> (tensor<3xi64>)
return %36, %24 : tensor<3xi64>, tensor<i64>
}
}
// fault 1: negative extent at structure/graph/histogram.acc:2:16
// fault 2: shape overflow at structure/graph/histogram.acc:2:16
// fault 3: index out of bounds at structure/graph/histogram.acc:21:15

