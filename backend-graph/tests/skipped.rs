//! Branches that no element takes.
#![cfg(feature = "libtorch")]

use acc_core::interp::Interpreter;
use acc_core::prelude::*;
use backend_graph::Libtorch;

#[test]
fn a_branch_with_a_loop_is_not_run_if_no_lane_takes_it() {
    let xs = use_(&Vector::from([9i64, 1, 6, 4]));
    let program = |limit: i64| {
        let digits = |x: Exp<i64>| while_((x, 0i64), |(x, _)| x.gt(0), |(x, n)| (x / 10, n + 1)).1;
        xs.map(|x| x.gt(limit).then_else(digits(x) + (x ^ 5).trailing_zeros().to::<i64>(), -x))
    };
    // Recordings are the process's, so this is its only test.
    let counted = |limit: i64| {
        let recording = acc_core::timeline::record();
        let (want, got) = (Interpreter::new().run(program(limit)), Libtorch::cpu().run(program(limit)));
        assert_eq!(got.unwrap(), want.unwrap());
        recording.stop().to_chrome().matches("trailing_zeros").count()
    };
    assert_eq!(counted(9), 0);
    assert_eq!(counted(5), 1);
    assert_eq!(counted(0), 1);
    let graph = backend_graph::graph_of(&program(9).program().unwrap().program).unwrap();
    // One look at the mask, one at the lanes of the loop.
    assert_eq!(backend_graph::Counts::of(&graph).read_backs, 2);
}
