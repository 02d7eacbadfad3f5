//! What Ganglia is told, by its own programs.

use super::*;

#[tokio::test]
async fn ganglia_reads_what_providers_report_and_is_read_for_those_that_do_not() {
    let folder = folder();
    let running = registry(&folder).await;
    let (own, address) = (client(&folder, "p1"), running.address());
    let document = waiting(move || {
        call(address, &own, &uddi::write_request(&business(HOME)));
        let taken = jiff::Timestamp::now().as_millisecond();
        call(address, &own, &uddi::write_request(&report(taken)));
        let mut stream =
            TcpStream::connect(running.ganglia().expect("metrics")).expect("it listens");
        let mut document = Vec::new();
        stream.read_to_end(&mut document).expect("it ends");
        document
    })
    .await;
    let hosts = soapstone_registry::ganglia::read(&document).expect("a document");
    assert_eq!(hosts[0].host().load_one, Some(0.5));
    let in_hand = hosts[0]
        .metrics
        .iter()
        .find(|(name, ..)| name == "soapstone_in_hand");
    assert_eq!(in_hand.map(|(_, value, _)| *value), Some(3.0));

    // The same document, as another gmond would say it of the provider's machine.
    let gmond = TcpListener::bind("127.0.0.1:0").expect("a port");
    let source = gmond.local_addr().expect("it is bound");
    let folder = self::folder();
    let text = format!("{SERVER}[[gmond]]\naddress = \"{source}\"\n");
    let text = config(&folder, &text).unwrap_or_else(|problems| panic!("{problems}"));
    let running = start(text).await.unwrap_or_else(|error| panic!("{error}"));
    let (own, address) = (client(&folder, "p1"), running.address());
    waiting(move || {
        call(address, &own, &uddi::write_request(&business(HOME)));
        // The first one never says a word, and holds nobody up.
        let (silent, _) = gmond.accept().expect("it asks");
        assert_eq!(providers(&running)[0].state, State::Unmonitored);
        drop(silent);
        let (mut stream, _) = gmond.accept().expect("it asks again");
        stream.write_all(&document).expect("it reads");
        drop(stream);
        // It has taken the document before it asks again.
        let _again = gmond.accept().expect("it asks again");
        let provider = &providers(&running)[0];
        assert_eq!(provider.state, State::Active);
        assert_eq!(provider.host.and_then(|host| host.load_one), Some(0.5));
    })
    .await;
}

/// `gmetad` itself takes what is served: it ended on a host whose name was no name of a folder.
#[tokio::test]
async fn gmetad_takes_what_is_served() {
    let gmetad = Path::new("/usr/sbin/gmetad");
    if !gmetad.exists() {
        assert!(std::env::var_os("CI").is_none(), "gmetad is not installed");
        eprintln!("skipped: gmetad is not installed");
        return;
    }
    let folder = folder();
    let running = registry(&folder).await;
    let (own, address) = (client(&folder, "p1"), running.address());
    let source = running.ganglia().expect("metrics");
    waiting(move || {
        let request = uddi::write_request(&business("http://127.0.0.1:9001/books/../x"));
        let (_, status, _) = call(address, &own, &request);
        assert_eq!(status, 500, "no dot segments");
        call(address, &own, &uddi::write_request(&business(HOME)));
        let taken = jiff::Timestamp::now().as_millisecond();
        call(address, &own, &uddi::write_request(&report(taken)));
        let rounds = folder.path("rrds");
        std::fs::create_dir(&rounds).expect("a folder");
        let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let [xml, interactive] = ports.map(|it| it.local_addr().expect("it is bound").port());
        let text = format!(
            "data_source \"soapstone\" 1 {source}\nrrd_rootdir \"{}\"\nsetuid off\n\
             xml_port {xml}\ninteractive_port {interactive}\n",
            rounds.display()
        );
        let file = folder.write("gmetad.conf", text);
        let log = std::fs::File::create(folder.path("gmetad.log")).expect("a file");
        let mut command = std::process::Command::new(gmetad);
        command.arg("-d1").arg("-c").arg(file);
        command.stdout(log.try_clone().expect("a file")).stderr(log);
        let mut program = Program(command.spawn().expect("it starts"));
        let kept = || -> Option<std::path::PathBuf> {
            let hosts = std::fs::read_dir(rounds.join("test")).ok()?;
            let mut hosts = hosts.filter_map(|host| Some(host.ok()?.path()));
            hosts.find(|host| host.join("soapstone_in_hand.rrd").exists())
        };
        let is_kept = (0..1_200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            kept().is_some() || program.0.try_wait().expect("a state").is_some()
        });
        let said = folder.read("gmetad.log");
        let said = String::from_utf8_lossy(&said);
        assert!(is_kept && kept().is_some(), "{said}");
        let ended = program.0.try_wait().expect("a state");
        assert_eq!(ended, None, "{said}");
        drop(running);
    })
    .await;
}
