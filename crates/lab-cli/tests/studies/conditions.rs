//! Networks, memory, connections and clients of an experiment: what is measured under them.

#[cfg(target_os = "linux")]
use serde_json::Value;

use crate::common::Folder;
use crate::{lines, measured_or_left_out};

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
