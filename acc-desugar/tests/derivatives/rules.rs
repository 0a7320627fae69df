//! Functions with rules of their own.

use crate::support::{check_with, expanded, near, run};
use acc_core::ad::derivative_of;
use acc_core::ir::Mode;
use acc_core::prelude::{Acc, Vector, fixpoint, grad, hvp, jvp};
use acc_core::{RunLimits, text};
use acc_desugar::pipeline::NATIVE;
use acc_desugar::{Rules, Settings, pass};

const CUBE: &str = "y: [1]f64 = map(a, f: |%a: f64| mul(%a, mul(%a, %a)))";

#[test]
fn rules() {
    // The slope is that of the rule, of any order; residuals are results, arguments and what the function computes.
    for residuals in ["a", "y", "q", "r"] {
        check_with(
            &format!(
                "program(x: [1]f64) {{
                   z: [1]f64 = map(x, f: |%x: f64| sin(%x))
                   y: [1]f64, r: [1]f64 = custom_vjp(z, residuals: 1, f: |a: [1]f64| {{ {CUBE}
                     q: [1]f64 = zip_with(y, a, f: |%y: f64, %a: f64| mul(%y, exp(%a)))
                     r: [1]f64 = scanl1(a, f: |%a: f64, %b: f64| add(%a, %b))
                     yield y, {residuals} }},
                   vjp: |r: [1]f64, b: [1]f64| {{
                     c: [1]f64 = zip_with(r, b, f: |%r: f64, %b: f64| mul(cos(%r), %b))
                     d: [1]f64 = scanr1(c, f: |%a: f64, %b: f64| add(%a, %b))
                     yield d }})
                   w: [1]f64 = zip_with(y, r, f: |%y: f64, %r: f64| mul(%y, %r))
                   yield w }}"
            ),
            &[&[4]],
        );
    }
    check_with(
        &format!(
            "program(x: [1]f64, k: [0]f64) {{
               y: [1]f64 = custom_jvp(x, k, f: |a: [1]f64, k: [0]f64| {{ {CUBE} yield y }},
               jvp: |a: [1]f64, k: [0]f64, t: [1]f64, s: [0]f64| {{
                 u: [1]f64 = zip_with(a, t, f: |%a: f64, %t: f64| add(mul(mul(%a, %t), k[]), s[]))
                 yield u }})
               z: [1]f64 = zip_with(x, y, f: |%x: f64, %y: f64| mul(%x, sin(%y)))
               yield z }}"
        ),
        &[&[4], &[]],
    );
}

#[test]
fn rules_of_both_modes() {
    check_with(
        &format!(
            "program(x: [1]f64) {{
               y: [1]f64, r: [1]f64 = custom_derivative(x, residuals: 1, f: |a: [1]f64| {{ {CUBE} yield y, a }},
               jvp: |a: [1]f64, r: [1]f64, t: [1]f64| {{
                 u: [1]f64 = zip_with(r, t, f: |%a: f64, %t: f64| mul(%a, %t)) yield u }},
               vjp: |r: [1]f64, b: [1]f64| {{
                 u: [1]f64 = zip_with(r, b, f: |%a: f64, %t: f64| mul(%a, %t)) yield u }})
               yield y }}"
        ),
        &[&[4]],
    );
}

#[test]
fn rules_of_elements_with_integers() {
    check_with(
        "program(x: [1](f64, i64), w: [0]f64) {
           y: [1](f64, i64), n: [1]i64, p: [1](f64, i64), v: [0]f64 = custom_vjp(x, w, residuals: 2, f: |x: [1](f64, i64), w: [0]f64| {
             y: [1](f64, i64) = map(x, f: |%x: f64, %n: i64| (mul(%x, mul(cast(%n, f64), w[])), %n))
             n: [1]i64 = map(x, f: |%x: f64, %n: i64| %n)
             yield y, n, x, w },
           vjp: |p: [1](f64, i64), v: [0]f64, b: [1](f64, ())| {
             xb: [1](f64, ()) = zip_with(p, b, f: |%x: f64, %n: i64, %b: f64| mul(%b, mul(cast(%n, f64), v[])))
             s: [1]f64 = zip_with(p, b, f: |%x: f64, %n: i64, %b: f64| mul(%b, mul(cast(%n, f64), %x)))
             wb: [0]f64 = fold(s, f: |%a: f64, %b: f64| add(%a, %b), init: || 0.0f64)
             yield xb, wb })
           z: [1]f64 = zip_with(y, n, f: |%y: f64, %k: i64, %n: i64| mul(%y, cast(%n, f64)))
           yield z }",
        &[&[4], &[]],
    );
}

#[test]
fn rules_in_loops_and_branches() {
    let rule = |x: &str| {
        format!(
            "y: [1]f64, r: [1]f64 = custom_vjp({x}, residuals: 1, f: |a: [1]f64| {{ {CUBE} yield y, a }},
             vjp: |a: [1]f64, b: [1]f64| {{ u: [1]f64 = zip_with(a, b, f: |%a: f64, %b: f64| mul(cos(%a), %b)) yield u }})
             p: [1]f64 = checkpoint(y, f: |q: [1]f64| {{ u: [1]f64 = map(q, f: |%q: f64| mul(sin(%q), k[])) yield u }})"
        )
    };
    check_with(
        &format!(
            "program(x: [1]f64, k: [0]f64) {{
               zero: [0]i64 = generate(shape: || (), f: || 0i64)
               n: [0]i64, y: [1]f64 = awhile(zero, x,
                 test: |n: [0]i64, s: [1]f64| {{ c: [0]bool = map(n, f: |%n: i64| lt(%n, 3i64)) yield c }},
                 step: |n: [0]i64, s: [1]f64| {{
                   m: [0]i64 = map(n, f: |%n: i64| add(%n, 1i64))
                   {} yield m, p }})
               yield y }}",
            rule("s")
        ),
        &[&[3], &[]],
    );
    for k in [0, 1] {
        check_with(
            &format!(
                "program(x: [1]f64, k: [0]f64) {{ y: [1]f64 = acond(cond: || eq({k}i64, 0i64), then: {{ {} yield p }},
                   else: {{ b: [1]f64 = map(x, f: |%x: f64| exp(%x)) yield b }}) yield y }}",
                rule("x")
            ),
            &[&[3], &[]],
        );
    }
}

#[test]
fn partials() {
    let f = "foreign \"\" (%a, %b) |%a: f64, %b: f64| { yield mul(%a, %b), %b, 3i64 }
             partials |%a: f64, %b: f64, %y: f64, %z: f64, %n: i64| { yield sin(%y), %b, %a, %a }";
    check_with(
        &format!(
            "program(x: [1]f64, w: [1]f64) {{ y: [1]f64 = zip_with(x, w, f: |%a: f64, %b: f64| {{
               %y, %z, %n = {f} yield mul(%y, add(%z, cast(%n, f64))) }}) yield y }}"
        ),
        &[&[4], &[4]],
    );
    // In branches and loops, with reads.
    check_with(
        "program(x: [1]f64, c: [1]i64) { y: [1]f64 = imap(x, f: |%i: i64, %x: f64| if gt(%x, 0.0f64) {
           %n, %r = while (0i64, %x) test |%n: i64, %r: f64| { yield lt(%n, 2i64) } step |%n: i64, %r: f64| {
             %s = foreign \"\" (%r) |%r: f64| { yield mul(%r, %r) } partials |%r: f64, %y: f64| { yield cast(c[%i], f64) }
             yield add(%n, 1i64), %s }
           yield %r } else { yield foreign \"\" (%x) |%r: f64| { yield %r } partials |%r: f64, %y: f64| { yield exp(%r) } }) yield y }",
        &[&[6], &[6]],
    );
}

#[test]
fn checkpoints_compute_again() {
    let p = |layer: &str| {
        format!(
            "program(x: [1]f64, w: [0]f64) {{
               a: [1]f64 = {layer}
               b: [1]f64 = map(a, f: |%a: f64| exp(mul(%a, %a)))
               yield b }}"
        )
    };
    let body = "|x: [1]f64| { u: [1]f64 = scanl1(x, f: |%a: f64, %b: f64| mul(%a, %b)) v: [1]f64 = map(u, f: |%u: f64| sin(mul(%u, w[]))) yield v }";
    let source = p(&format!("checkpoint(x, f: {body})"));
    let plain = p("map(x, f: |%x: f64| %x) c: [1]f64 = scanl1(a, f: |%a: f64, %b: f64| mul(%a, %b)) d: [1]f64 = map(c, f: |%u: f64| sin(mul(%u, w[])))")
        .replace("map(a, f: |%a: f64| exp", "map(d, f: |%a: f64| exp");
    check_with(&source, &[&[4], &[]]);
    // The scan is there twice, also after simplification; without a checkpoint once.
    let scans = |source: &str| {
        let p = derivative_of(&text::parse("p.acc", source).expect("a program"), Mode::Reverse);
        let (rules, limits) = (Rules::all(), RunLimits::none());
        let stage =
            pass::until(NATIVE, "simplify", &p, &Settings::new(&rules, &limits)).expect("a pass").expect("it runs");
        let made = stage.into_program().expect("a program").into_owned().to_string();
        // Products scanned from the left: those of the adjoint are pairs, or from the right.
        (made.matches("scanl1(").count(), made)
    };
    let (of_checkpoint, of_plain) = (scans(&source), scans(&plain));
    assert_eq!(of_checkpoint.0, of_plain.0 + 1, "{}\n{}", of_checkpoint.1, of_plain.1);
}

#[test]
fn rules_must_see_all_of_the_point() {
    let p = text::parse(
        "p.acc",
        &format!(
            "program(x: [1]f64, k: [1]f64) {{
               y: [1]f64 = custom_jvp(x, f: |a: [1]f64| {{ {CUBE} yield y }}, jvp: |a: [1]f64, t: [1]f64| {{
                 u: [1]f64 = zip_with(k, t, f: |%a: f64, %t: f64| mul(%a, %t)) yield u }})
               yield y }}"
        ),
    )
    .expect("a program");
    for mode in [Mode::Forward, Mode::Reverse] {
        let (rules, limits) = (Rules::all(), RunLimits::none());
        let derivative = derivative_of(&p, mode);
        let made = pass::until(NATIVE, "differentiate", &derivative, &Settings::new(&rules, &limits)).expect("a pass");
        let Err(e) = made else { panic!("no error") };
        let e = e.to_string();
        assert!(
            e.contains("a rule without all of the point") && e.contains("p.acc:2:") && e.contains("p.acc:3:"),
            "{e}"
        );
    }
}

#[test]
fn rules_of_derivatives_inside_one_another() {
    // To the inner derivative `k` is constant, to the outer one it is not: what the rule leaves out would be missing.
    let inner = "y: [1]f64, g: [1]f64 = vjp(z, by: [z], f: |z: [1]f64| {
        y: [1]f64 = custom_jvp(z, f: |a: [1]f64| { b: [1]f64 = zip_with(a, k, f: |%a: f64, %k: f64| mul(%a, %k)) yield b },
        jvp: |a: [1]f64, t: [1]f64| { yield t }) yield y })";
    let p = text::parse("p.acc", &format!("program(k: [1]f64, z: [1]f64) {{ {inner} yield g }}")).expect("a program");
    let (rules, limits) = (Rules::all(), RunLimits::none());
    let derivative = derivative_of(&p, Mode::Reverse);
    let made = pass::until(NATIVE, "differentiate", &derivative, &Settings::new(&rules, &limits)).expect("a pass");
    let Err(e) = made else { panic!("no error") };
    let e = e.to_string();
    assert!(e.contains("a rule without all of the point"), "{e}");
    // As an argument it has its part.
    check_with(
        "program(k: [1]f64, z: [1]f64) {
           y: [1]f64, g: [1]f64, h: [1]f64 = vjp(z, k, by: [z], f: |z: [1]f64, k: [1]f64| {
             y: [1]f64 = custom_jvp(z, k, f: |a: [1]f64, k: [1]f64| { b: [1]f64 = zip_with(a, k, f: |%a: f64, %k: f64| mul(%a, %k)) yield b },
             jvp: |a: [1]f64, k: [1]f64, t: [1]f64, s: [1]f64| {
               c: [1]f64 = zip_with(t, k, f: |%t: f64, %k: f64| mul(%t, mul(%k, %k)))
               d: [1]f64 = zip_with(c, s, f: |%c: f64, %s: f64| add(%c, %s)) yield d }) yield y })
           yield g, h }",
        &[&[3], &[3]],
    );
}

#[test]
fn fixed_points() {
    // In the typed API: the expanded program against the interpreter's derivative.
    let a = Vector::from([0.5f64, 1.0]);
    let f = |a: Acc<Vector<f64>>| fixpoint(a.map(|_| 0.0), a, |x, a| x.zip_with(a, |x, a| (a * x).cos()), 1e-13);
    let loss = |a: Acc<Vector<f64>>| f(a).map(|x| x * x).sum();
    let direction = Vector::from([1.0, -2.0]);
    let programs = [
        grad(&a, loss).program(),
        jvp(&a, &direction, f).1.program(),
        hvp(&a, &direction, loss).program(),
        grad(&a, |a| grad(a, loss).sum()).program(),
    ];
    for built in programs {
        let built = built.expect("a program");
        let (want, made) = (run(&built.program, &built.embedded), expanded(&built.program));
        let got = run(&made, &built.embedded);
        assert!(want.iter().zip(&got).all(|(a, b)| near(a, b)), "{want:#?}\nand not\n{got:#?}");
    }
}
