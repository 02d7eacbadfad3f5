//! `soapstone lab`: studies run again, and the report of what came of it.

#[path = "../../cli/tests/common/mod.rs"]
mod common;
#[cfg(unix)]
#[path = "../../cli/tests/common/server.rs"]
mod server;

use common::Folder;
use serde_json::{Value, json};

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

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

/// Arms at each place with the lines of a quantity.
fn told<'l>(lines: &'l [Value], quantity: &str) -> Vec<(&'l str, &'l str, &'l Value)> {
    let text = |value: &'l Value| value.as_str().expect("a text");
    lines
        .iter()
        .filter(|line| line["quantity"] == quantity)
        .map(|line| {
            let source = text(&line["at"]["source"]);
            (source, text(&line["arm"]), &line["figures"])
        })
        .collect()
}

#[test]
fn a_study_is_run_with_books_from_memory_and_from_a_database_and_reported() {
    let folder = Folder::new();
    let run = folder
        .run("lab run mchale2012/4 --quick --filter books/1 --json --database sqlite:books.db")
        .succeeds();
    let lines = lines(run.text());
    let mut arms: Vec<_> = told(&lines, "time")
        .into_iter()
        .map(|(source, arm, figures)| {
            let number = |name: &str| figures[name].as_f64().expect("a number");
            assert_eq!(figures["n"], 3);
            assert!(0.0 < number("best") && number("best") <= number("median"));
            (source, arm)
        })
        .collect();
    arms.sort_unstable();
    let expected: Vec<_> = ["memory", "sqlite"]
        .into_iter()
        .flat_map(|source| {
            ["direct", "none", "sign-encrypt/Basic256"].map(|mechanism| (source, mechanism))
        })
        .collect();
    assert_eq!(arms, expected);
    let sizes = told(&lines, "size")
        .into_iter()
        .zip(told(&lines, "secured"));
    for ((_, arm, plain), (_, _, secured)) in sizes {
        let grew = secured["best"].as_f64() > plain["best"].as_f64();
        assert_eq!(grew, arm == "sign-encrypt/Basic256", "{arm}");
    }
    let floors = told(&lines, "floor");
    assert_eq!(floors.len(), 2, "{floors:?}");

    folder.write("lines.jsonl", run.text());
    folder
        .run("lab report lines.jsonl --markdown -o report.md")
        .succeeds();
    let report = folder.read("report.md");
    for part in [
        "### Experiment 4: ",
        "Repeat it with `soapstone lab run mchale2012/4`.",
        "\n| sign-encrypt/Basic256, sqlite | ",
    ] {
        assert!(report.contains(part), "{part} is not in\n{report}");
    }
}

#[test]
fn books_come_from_every_database_that_is_installed() {
    let words = "lab run mchale2012/4 --quick --filter books/1 --json --keep kept";
    let folder = Folder::new();
    let run = folder.run(words).succeeds();
    let manifest: Value = serde_json::from_str(&folder.read("kept/manifest.json")).expect("JSON");
    let there = manifest["databases"].as_array().expect("a list");
    let lines = lines(run.text());
    for database in ["sqlite", "mysql", "postgres"] {
        let of = |line: &&Value| line["at"]["source"] == database;
        let of: Vec<Value> = lines.iter().filter(of).cloned().collect();
        let measured = measured_or_left_out(&of, "sign-encrypt/Basic256", "time");
        assert_eq!(there.contains(&json!(database)), measured.is_ok());
        if let Err(why) = measured {
            assert!(std::env::var_os("CI").is_none(), "{why}");
            assert!(why.contains("is not installed (package "), "{why}");
            assert!(run.err.contains(&format!("{database} is absent: ")));
        }
    }
}

#[test]
fn each_repetition_of_requests_in_a_conversation_begins_with_a_handshake() {
    let words =
        "lab run mchale2012/2 --quick --filter requests/10 --json --keep kept --log-level info";
    let folder = Folder::new();
    let run = folder.run(words).succeeds();
    let lines = lines(run.text());
    let of = |arm, quantity| measured_or_left_out(&lines, arm, quantity).expect("samples");
    let arm = "secure-conversation/Basic256";
    let (totals, means, firsts) = (of(arm, "total"), of(arm, "time"), of(arm, "first"));
    for (total, mean) in totals.iter().zip(&means) {
        assert!((total - mean * 10.0).abs() < 1e-3, "{total} {mean}");
    }
    assert_eq!((firsts.len(), of("none", "total").len()), (totals.len(), 3));
    // The gateway before the service tells of each context that it issues: one for all calls that
    // warm up, one for the call that is weighed, and one for each repetition.
    let said = folder.read("kept/said.log");
    let issued = said
        .lines()
        .filter(|line| line.contains("what=\"issued\"") && line.contains(arm));
    assert_eq!(issued.count(), totals.len() + 2);
}

/// The names of the points that are done, in their order.
fn points(lines: &[Value]) -> Vec<String> {
    let done = lines.iter().filter_map(|line| line["done"].as_str());
    done.map(str::to_owned).collect()
}

#[test]
fn a_folder_keeps_one_run_and_half_a_point_is_measured_again() {
    let folder = Folder::new();
    let run =
        "lab run mchale2012/4 --quick --filter books/1 --keep kept --database sqlite:books.db";
    folder.run(run).succeeds();
    let manifest: Value = serde_json::from_str(&folder.read("kept/manifest.json")).expect("JSON");
    assert_eq!(manifest["subjects"], json!(["mchale2012/4"]));
    assert_eq!(
        (&manifest["scale"], &manifest["seed"]),
        (&json!("quick"), &json!(2012))
    );
    assert!(
        manifest["machine"]["processors"].as_u64() > Some(0),
        "{manifest}"
    );
    // Of the program, whatever folder it is run in; of the program's file, where sources were
    // changed or are in no repository.
    let revision = manifest["revision"].as_str().expect("a revision");
    let (commit, program) = revision.split_once("program-").unwrap_or((revision, ""));
    let hexadecimal = |text: &str| text.bytes().all(|octet| octet.is_ascii_hexdigit());
    assert!(
        hexadecimal(commit.trim_end_matches('+')) && hexadecimal(program),
        "{revision}"
    );
    assert_eq!(program.len(), if commit.len() == 40 { 0 } else { 16 });

    let all = folder.read("kept/lines.jsonl");
    let whole: Vec<&str> = all.split_inclusive('\n').collect();
    assert_eq!(points(&lines(&all)).len(), 2);
    let first = whole.iter().position(|line| line.contains("\"done\""));
    let first = first.expect("a point") + 1;
    // As if it had been killed while it wrote the second line of the second point.
    let left = whole[..=first].concat() + &whole[first + 1][..40];
    folder.write("kept/lines.jsonl", left);
    let again = folder.run(run).succeeds();
    let now = folder.read("kept/lines.jsonl");
    assert!(now.starts_with(&whole[..first].concat()), "{now}");
    assert_eq!(points(&lines(&now)), points(&lines(&all)));
    assert_eq!(lines(&now).len(), whole.len());
    assert!(
        again.text().contains("\nbooks 1, source memory")
            && again.text().contains("\nbooks 1, source sqlite"),
        "{}",
        again.text()
    );
    // All is measured: nothing is run, and all is told.
    assert_eq!(folder.run(run).succeeds().out, again.out);
    assert_eq!(folder.read("kept/lines.jsonl"), now);
    folder
        .run(&run.replace("books/1", "books/2493"))
        .fails("manifest.json: is of another run");
}

/// The folders of runs that were kept without naming one.
fn kept(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path("lab-results")).expect("results");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| format!("lab-results/{}", name.to_string_lossy()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[cfg(unix)]
#[test]
fn a_run_that_was_killed_goes_on_where_it_was_and_a_run_that_ended_is_not_overwritten() {
    let folder = Folder::new();
    let words = "lab run mchale2012/3 --quick --filter figures-12-13 --json";
    let mut run = server::Server::start(&folder, words, "\"done\"");
    assert!(run.said.contains("\"quantity\""), "{}", run.said);
    assert_eq!(run.stop("-KILL"), None, "it was killed");
    let [of_the_run] = kept(&folder).try_into().expect("one folder");
    let file = format!("{of_the_run}/lines.jsonl");
    let before = folder.read(&file);
    let done = points(&lines(&before[..=before.rfind('\n').expect("a line")]));
    assert!((1..4).contains(&done.len()), "{done:?}");

    let run = folder.run(words).succeeds();
    assert!(run.err.contains("going on in lab-results/"), "{}", run.err);
    assert_eq!(kept(&folder), std::slice::from_ref(&of_the_run));
    let after = lines(&folder.read(&file));
    let mut all = points(&after);
    assert_eq!(all[..done.len()], done, "what was measured stays as it is");
    assert_eq!(
        points(&lines(run.text())),
        all[done.len()..],
        "and is not measured again"
    );
    all.sort();
    let expected =
        [200, 400, 50, 600].map(|books| format!("mchale2012/3/figures-12-13/books/{books}"));
    assert_eq!(all, expected);

    let ended = folder.read(&file);
    let one = format!("{words} --filter books/50");
    for _ in 0..2 {
        folder.run(&one).succeeds();
    }
    assert_eq!(kept(&folder).len(), 3, "each run that ended has a folder");
    assert_eq!(folder.read(&file), ended);

    let [_, second, third] = kept(&folder).try_into().expect("three folders");
    let compared = folder
        .run(&format!("lab compare {second} {third}"))
        .succeeds();
    assert!(
        compared
            .text()
            .contains("mchale2012/3/figures-12-13/books/50  soapstone  sign-encrypt/Basic256")
            && compared.text().contains("Only A has 0 lines, only B 0."),
        "{}",
        compared.text()
    );
    let sizes = folder
        .run(&format!("lab compare {second} {third} --json"))
        .succeeds();
    let sizes: Vec<Value> = lines(sizes.text())
        .into_iter()
        .filter(|line| line["quantity"] == "size")
        .collect();
    assert_eq!(sizes.len(), 4);
    for size in sizes {
        assert_eq!(
            (&size["ratio"], &size["verdict"]),
            (&json!(1.0), &json!("same"))
        );
    }
    let other = folder.run("lab run mchale2012/1 --quick --filter books/1 --keep other");
    other.succeeds();
    folder
        .run(&format!("lab compare {second} other"))
        .fails("the runs have no line in common");
    folder.write("empty.jsonl", "");
    folder
        .run(&format!("lab compare {second} empty.jsonl"))
        .fails("empty.jsonl: expected lines of a run, found none");
}

#[cfg(unix)]
#[test]
fn a_run_that_is_stopped_keeps_what_was_measured() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    let folder = Folder::new();
    let mut child = folder
        .command_with(&[
            "lab",
            "run",
            "mchale2012/3",
            "--json",
            "--filter",
            "figures-12-13",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    // The service, keys and gateways are there, and the first point is being measured.
    let mut errors = BufReader::new(child.stderr.take().expect("standard error"));
    let mut said = String::new();
    errors.read_line(&mut said).expect("a line");
    assert!(said.starts_with("keeping lines in lab-results/"), "{said}");
    let told = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(told.success());
    said.clear();
    errors.read_to_string(&mut said).expect("what it said");
    let mut output = String::new();
    let mut lines_of = child.stdout.take().expect("standard output");
    lines_of.read_to_string(&mut output).expect("its lines");
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    let [folder_of_the_run] = kept(&folder).try_into().expect("one folder");
    // The paper's algorithms are risks, of which gateways warn that have started by then. They have
    // nothing else to say.
    let log = format!("{folder_of_the_run}/said.log");
    let warnings = folder.read(&log);
    for warning in warnings.lines() {
        let is_of_the_paper = [" name=\"weak-algorithm\" ", " name=\"cbc\" "]
            .iter()
            .any(|name| warning.contains(name));
        assert!(is_of_the_paper, "{warnings}");
    }
    let place = match warnings.as_str() {
        "" => String::new(),
        _ => format!("what gateways and stacks said meanwhile is in {log}\n"),
    };
    assert_eq!(
        said,
        format!(
            "{place}soapstone: stopped before the end\nhint: the same command goes on from there\n"
        )
    );
    let file = folder.read(&format!("{folder_of_the_run}/lines.jsonl"));
    assert_eq!(file, output, "what was told was kept, and nothing else");
    let last = lines(&file).pop();
    assert!(last.is_none_or(|last| last["done"].is_string()), "{file}");
}

#[test]
fn the_engine_is_measured_as_between_calls_and_the_lines_say_so() {
    let folder = Folder::new();
    let case =
        "lab run engine --quick --json --filter secure-conversation/Basic128GCM --filter echo/12";
    for (option, is_between_calls) in [("", false), (" --between-calls", true)] {
        let run = folder.run(&format!("{case}{option}")).succeeds();
        let said: Vec<_> = lines(run.text())
            .iter()
            .map(|line| (line["op"].clone(), line["between_calls"].clone()))
            .collect();
        let expected = ["secure", "open"].map(|op| (json!(op), json!(is_between_calls)));
        assert_eq!(said, expected);
    }
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

/// What each arm has of a quantity: its samples, or why there are none.
fn measured_or_left_out(lines: &[Value], arm: &str, quantity: &str) -> Result<Vec<f64>, String> {
    let of = |line: &&Value| line["arm"] == arm;
    if let Some(line) = lines
        .iter()
        .filter(of)
        .find(|it| it["left_out"].is_string())
    {
        return Err(line["left_out"].to_string());
    }
    let mut lines = lines.iter().filter(of);
    let line = lines.find(|line| line["quantity"] == quantity);
    let line = line.unwrap_or_else(|| panic!("no {quantity} of {arm}"));
    let samples = line["samples"].as_array().expect("samples").iter();
    Ok(samples.filter_map(Value::as_f64).collect())
}

#[test]
fn a_gateway_with_little_memory_is_measured_and_tells_what_it_holds() {
    let words = "lab run novakouski2010/7 --quick --filter figure-11-latency/memory/64 --json";
    let run = Folder::new().run(words).succeeds();
    let lines = lines(run.text());
    for arm in [
        "none",
        "sign-encrypt/Basic256",
        "secure-conversation/Basic256",
    ] {
        match measured_or_left_out(&lines, arm, "rate") {
            Ok(rates) => {
                assert!(rates.len() == 2 && rates.iter().all(|rate| *rate > 0.0));
                let memory = measured_or_left_out(&lines, arm, "memory").expect("octets");
                assert!(
                    memory
                        .iter()
                        .all(|octets| (1e6..64.0 * 1_048_576.0).contains(octets))
                );
            }
            // Neither control groups nor prlimit may be there.
            Err(why) => assert!(why.contains("limit memory here"), "{why}"),
        }
    }
}

#[test]
fn a_slow_network_and_one_that_cuts_connections_delay_each_call() {
    for network in ["10-Mbit-5-ms", "disconnects"] {
        let words = format!(
            "lab run novakouski2010/11 --quick --filter network/{network} --json --keep kept"
        );
        let folder = Folder::new();
        let run = folder.run(&words).succeeds();
        let lines = lines(run.text());
        // What gateways warn of, such as connections that are cut, is kept, and does not run across
        // what is told of progress.
        assert!(!run.err.contains("WARN"), "{}", run.err);
        let said = folder.read("kept/said.log");
        let mut said = said.lines();
        assert!(said.all(|line| line.contains("WARN")), "{said:?}");
        for arm in ["none", "https", "sign-encrypt/Basic256"] {
            match measured_or_left_out(&lines, arm, "time") {
                // 5 ms each way.
                Ok(times) => assert!(times.iter().all(|micros| *micros > 10_000.0), "{times:?}"),
                Err(why) => {
                    // Where nobody may make networks, or a program that makes them is missing.
                    assert!(std::env::var_os("CI").is_none(), "{why}");
                    eprintln!("SKIPPED: {network}, {arm}: {why}");
                }
            }
        }
    }
}

#[test]
fn clients_that_come_later_begin_their_own_conversations() {
    let words = "lab run novakouski2010/3 --quick --filter figure-4-later/payload/Echo-12 --json";
    let run = Folder::new().run(words).succeeds();
    let lines = lines(run.text());
    for arm in ["direct", "none", "secure-conversation/Basic256"] {
        let times = measured_or_left_out(&lines, arm, "newcomer").expect("times");
        assert_eq!(times.len(), 3);
    }
}

#[test]
fn a_gateway_that_warms_up_has_its_conversation_before_anybody_calls() {
    let words = "lab run novakouski2010/18 --quick --filter operation/EmployeeDetails --json";
    let folder = Folder::new();
    let run = folder
        .run(&format!("{words} --keep kept --log-level info"))
        .succeeds();
    let lines = lines(run.text());
    let firsts = |arm| measured_or_left_out(&lines, arm, "first").expect("first calls");
    let warm = "secure-conversation+warm-up/Basic256";
    let cold = "secure-conversation/Basic256";
    assert_eq!(firsts(warm).len(), firsts(cold).len());
    // Each deployment issues one context: in a warm-up, or in the first call.
    let said = folder.read("kept/said.log");
    let issued = said.lines().filter(|line| line.contains("what=\"issued\""));
    assert_eq!(issued.count(), firsts(warm).len() + firsts(cold).len());
    let warmed = said
        .lines()
        .filter(|line| line.contains("the route is warm"));
    let warmed_up = ["none+warm-up", "sign-encrypt+warm-up/Basic256", warm];
    let deployed: usize = warmed_up.map(|arm| firsts(arm).len()).iter().sum();
    assert_eq!(warmed.count(), deployed);
}

#[test]
fn tls_with_a_handshake_in_each_call_stands_beside_kept_connections() {
    let words = "lab run shopov2007/1 --quick --filter call/echo-1-kB --stack soapstone,tls --json";
    let run = Folder::new().run(words).succeeds();
    let lines = lines(run.text());
    for arm in [
        "https",
        "https-new-connection",
        "direct+https-new-connection",
    ] {
        let times = measured_or_left_out(&lines, arm, "time").expect("times");
        assert!(times.len() >= 3, "{arm}: {times:?}");
    }
}

#[test]
fn a_client_that_opens_answers_itself_tells_both_spans_of_each_call() {
    let words = "lab run shopov2007/2 --quick --filter table-1-exchange/call/getTemperature --json";
    let run = Folder::new().run(words).succeeds();
    let lines = lines(run.text());
    for arm in [
        "encrypt/Basic128Rsa15",
        "sign/Basic128Rsa15",
        "sign-encrypt/Basic128Rsa15",
    ] {
        let spans = |quantity| measured_or_left_out(&lines, arm, quantity).expect("times");
        let pairs: Vec<(f64, f64)> = spans("exchange").into_iter().zip(spans("opened")).collect();
        assert!(pairs.len() >= 3, "{arm}: {pairs:?}");
        assert!(pairs.iter().all(|it| it.0 < it.1), "{arm}: {pairs:?}");
    }
}

#[test]
fn tokens_of_users_are_signed_through_both_gateways() {
    let words = "lab run vanengelen2008/1 --quick --json";
    let run = Folder::new().run(words).succeeds();
    let lines = lines(run.text());
    for arm in ["username-hmac/Basic256", "username-text-hmac/Basic256"] {
        measured_or_left_out(&lines, arm, "time").expect("times");
    }
}

#[test]
fn a_design_of_own_factors_says_what_each_of_them_explains() {
    let folder = Folder::new();
    let words = "lab design --factor encryption=off,on --factor clients=1,2 --factor operation=employee --repetitions 3 --requests 2";
    let dry = folder.run(&format!("{words} --dry-run")).succeeds();
    assert_eq!(
        dry.text(),
        "4 combinations, 3 times each: encryption=off clients=1; encryption=on clients=1; encryption=off clients=2; encryption=on clients=2\n"
    );
    let run = folder
        .run(&format!("{words} --keep kept -o page.html"))
        .succeeds();
    let told: Vec<&str> = run
        .text()
        .lines()
        .skip_while(|line| *line != "What the variation of mean times comes from:")
        .skip(1)
        .take(4)
        .collect();
    let share = |line: &&str| -> f64 {
        let before = line.split(" %").next().unwrap_or_default();
        let number = before.rsplit(' ').next().unwrap_or_default();
        number.parse().expect("a share")
    };
    let sum: f64 = told.iter().map(share).sum();
    assert!((sum - 100.0).abs() < 1.0, "{told:?}");
    for factor in ["encryption", "clients", "clients × encryption", "errors"] {
        let is_it = |line: &&&str| line.trim_start().starts_with(factor);
        assert!(told.iter().any(|line| is_it(&line)), "{factor}: {told:?}");
    }
    assert!(folder.read("page.html").contains("Your own factors"));
    // Another design is another run.
    folder
        .run(&format!(
            "{} --keep kept",
            words.replace("clients=1,2", "clients=1,3")
        ))
        .fails("is of another run");
    folder
        .run("lab design --factor keys=1,2")
        .fails("expected a factor (encryption, ");
}

#[cfg(target_os = "linux")]
#[test]
fn clients_and_servers_have_processors_of_their_own_where_that_is_asked_for() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        eprintln!("skipped: there is one processor, which cannot be parted");
        return;
    }
    let folder = Folder::new();
    let words =
        "lab run novakouski2010/3 --quick --filter payload/Echo-12 --client-cores 1 --keep kept";
    folder.run(words).succeeds();
    let manifest: Value = serde_json::from_str(&folder.read("kept/manifest.json")).expect("JSON");
    let side = |name: &str| manifest["cores"][name].as_array().expect("a list").clone();
    let (clients, servers) = (side("clients"), side("servers"));
    assert_eq!(clients.len(), 1);
    assert!(!servers.is_empty() && !servers.contains(&clients[0]));

    let parted_otherwise = words.replace("cores 1", "cores 0");
    folder.run(&parted_otherwise).fails("is of another run");
}
