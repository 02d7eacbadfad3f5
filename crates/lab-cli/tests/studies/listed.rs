//! What `soapstone lab list` says, and what cannot be run or reported.

use crate::common::Folder;

#[test]
fn studies_are_listed_with_what_was_published_and_what_is_measured() {
    let list = Folder::new().run("lab list").succeeds();
    for part in [
        "mchale2012: G. McHale, J. O'Raw, K. Curran: WS-I* compliant web service SOAP message security performance.",
        "; on Apache CXF 2.3\n",
        "\n  mchale2012/2: What does the algorithm suite change?\n",
        "\n    mchale2012/2/figures-9-10/books/100/requests/10\n",
        "\n    mchale2012/2/figures-9-10/books/100/requests/750 (without --quick)\n",
        "\n    mchale2012/2/figures-9-10/books/100/requests/100 (with --quick)\n",
        "\n    mchale2012/4/table-1-figure-14/books/2493/source/sqlite\n",
    ] {
        assert!(
            list.text().contains(part),
            "{part} is not in\n{}",
            list.text()
        );
    }
}

/// Whoever looks for a study finds it first: benchmarks come behind.
#[test]
fn studies_are_listed_in_the_order_of_their_papers_and_before_everything_else() {
    let list = Folder::new().run("lab list").succeeds();
    let heads = list.text().lines().filter(|line| !line.starts_with(' '));
    let heads: Vec<&str> = heads.filter_map(|line| line.split(':').next()).collect();
    assert_eq!(
        heads,
        [
            "mchale2012",
            "vanengelen2008",
            "novakouski2010",
            "shopov2007",
            "rodrigues2011",
            "wsarch",
            "engine",
            "growth",
            "conversations"
        ]
    );
    // The experiments of a study in their order, each with its points below.
    let experiments = list
        .text()
        .lines()
        .filter_map(|line| line.strip_prefix("  mchale2012/")?.split(':').next());
    assert_eq!(experiments.collect::<Vec<_>>(), ["1", "2", "3", "4", "5"]);
}

#[test]
fn options_that_have_nothing_to_do_with_what_is_run_are_refused() {
    let folder = Folder::new();
    for (words, why) in [
        (
            "engine --claims",
            "--claims is an option of studies, not of engine",
        ),
        (
            "growth --stack cxf",
            "--stack is an option of studies, not of growth",
        ),
        (
            "mchale2012 --no-canonical-runs",
            "--no-canonical-runs is an option of engine, not of studies",
        ),
        (
            "growth --between-calls",
            "--between-calls is an option of engine, not of growth",
        ),
        (
            "engine --conversations 5",
            "--conversations is an option of conversations, not of engine",
        ),
        (
            "growth --filter echo/12",
            "--filter is an option of engine and of studies, not of growth",
        ),
        (
            "conversations --config c.toml --url http://127.0.0.1:1/ --quick",
            "--quick is an option of engine, growth and studies, not of conversations",
        ),
    ] {
        folder.run(&format!("lab run {words}")).fails(why);
    }
}

#[test]
fn what_cannot_be_run_or_reported_is_told() {
    let folder = Folder::new();
    folder
        .run("lab run mchale2013")
        .fails("expected engine, growth, conversations, all or a study (mchale2012");
    folder
        .run("lab run mchale2012/first")
        .fails("expected the number of an experiment after the /");
    folder
        .run("lab run mchale2012/6")
        .fails("expected an experiment of mchale2012 (1, 2, 3, 4, 5), found 6");
    folder
        .run("lab run mchale2012/3 --experiment 3")
        .fails("the experiment is named twice");
    for (words, why) in [
        (
            "mchale2012/1 --filter books/250",
            "no point of mchale2012/1 has books/250 in its name\nhint: there is books/2500, ",
        ),
        (
            "mchale2012/3 --quick --filter load/750x100",
            "has load/750x100 in its name\nhint: load/750x100 is measured without --quick only; with it there is load/75x100, ",
        ),
        (
            "mchale2012/3 --filter load/100x5",
            "has load/100x5 in its name\nhint: load/100x5 is a point of --quick only",
        ),
        (
            "all --filter foo",
            "no point of a study has foo in its name\nhint: soapstone lab list",
        ),
        (
            "mchale2012/1 --filter books/1 --filter books/2500",
            "no point of mchale2012/1 has all of these segments in its name, but each is in some",
        ),
        (
            "novakouski2010/11 --stack cxf,gsoap",
            "nothing of these points is measured on cxf, gsoap",
        ),
        (
            "engine --filter books/101",
            "no case has books/101 in its name\nhint: there is books/100, ",
        ),
        (
            "engine --filter sign --filter encrypt",
            "no case has all of these segments in its name, but each is in some",
        ),
    ] {
        folder.run(&format!("lab run {words}")).fails(why);
    }
    assert!(
        !std::path::Path::new(&folder.path("lab-results")).exists(),
        "nothing was begun"
    );
    folder
        .run("lab run mchale2012/4 --database sqlite:a.db --database sqlite:b.db")
        .fails("expected one database of a kind, found more of sqlite");
    folder.run("lab run conversations").fails("--config <FILE>");

    folder.run("lab report").fails("not one line was read");
    folder.write("engine.jsonl", "\n{\"stack\":\"soapstone\"}\n");
    folder
        .run("lab report engine.jsonl")
        .fails("engine.jsonl: line 2 is no measurement of a study: missing field");
}
