//! Budgets of time: how often points and arms are repeated that run short of it.

use super::*;

#[test]
fn where_time_runs_short_points_are_repeated_three_times() {
    let procedure = Procedure::Turns {
        repetitions: 50,
        requests: 1,
    };
    let mut options = Options::at_a_glance(&["figures-5-6", "books/1"]);
    options.budget = Some(Duration::ZERO);
    let mut tasks = selected(1, &options);
    tasks[0].point.procedure = procedure;
    let records = records_of(&tasks, &options, &mut Pretending::new(1_000, 1_500));
    let line = lines(&records)[0];
    assert_eq!((line.quantity, line.figures.n), (Quantity::Time, 3));
}

/// The times of each arm of the point, by its name.
fn repetitions(records: &[Record]) -> Vec<(&str, usize)> {
    let times = lines(records).into_iter();
    let times = times.filter(|line| line.quantity == Quantity::Time);
    times
        .map(|line| (&*line.arm, line.figures.n))
        .collect::<Vec<_>>()
}

#[test]
fn an_arm_that_has_used_its_time_up_is_repeated_twice_and_the_others_go_on() {
    for (procedure, n) in [
        (
            Procedure::Turns {
                repetitions: 5,
                requests: 3,
            },
            5,
        ),
        (
            Procedure::Together {
                clients: 2,
                requests: 2,
                repetitions: 4,
            },
            4,
        ),
    ] {
        let mut options = Options::at_a_glance(&["figures-5-6", "books/1"]);
        options.arm_budget = Some(Duration::from_millis(20));
        let mut tasks = selected(1, &options);
        tasks[0].point.procedure = procedure;
        let mut bench = Pretending::new(1_000, 1_500);
        bench.really = Duration::from_millis(11);
        let records = records_of(&tasks, &options, &mut bench);
        assert_eq!(
            repetitions(&records),
            [("direct", n), ("none", n), ("sign-encrypt/Basic256", 2)],
            "{procedure:?}"
        );
    }
}

#[test]
fn in_memory_an_arm_is_repeated_as_often_as_its_time_lets() {
    let mut options = Options::at_a_glance(&["beyond-securing", "books/1"]);
    options.arm_budget = Some(Duration::from_millis(200));
    let tasks = selected(1, &options);
    for (took, n) in [(1_000, 10), (30_000, 6), (150_000, 2)] {
        let records = records_of(&tasks, &options, &mut Pretending::new(took, 1));
        assert_eq!(repetitions(&records), [("sign-encrypt/Basic256", n)]);
    }
}

#[test]
fn a_glance_measures_slow_stacks_at_some_sizes_and_the_papers_counts_at_all() {
    let sizes = |scale, stack| {
        let mut options = Options::at_a_glance(&["figures-5-6"]);
        options.scope.scale = scale;
        options.scope.stacks = vec![Stack::Soapstone, stack];
        let tasks = selected(1, &options);
        let has = |task: &&Task| task.point.arms.iter().any(|arm| arm.call.stack == stack);
        tasks.iter().filter(has).count()
    };
    for stack in [Stack::Cxf, Stack::Gsoap, Stack::Metro, Stack::Wcf] {
        assert_eq!(sizes(Scale::Quick, stack), 4, "{stack}");
    }
    assert_eq!(sizes(Scale::Full, Stack::Cxf), 11);
}
