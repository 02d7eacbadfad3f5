//! A `gmond` that runs: the registry reads what it says of the host of a provider.
//!
//! Where `gmond` is not installed (Debian: `ganglia-monitor`) the test says so and passes, but not
//! in continuous integration.

use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::time::Duration;

use soapstone_registry::ganglia;

use super::*;

const GMOND: &str = "/usr/sbin/gmond";

/// Where Debian has the modules of metrics: a folder that is named by the architecture.
fn modules() -> String {
    let text = std::fs::read_to_string("/etc/ganglia/gmond.conf").expect("Debian's own file");
    let (before, _) = text.split_once("/modcpu.so").expect("a module");
    let (_, folder) = before.rsplit_once('"').expect("a path");
    folder.to_owned()
}

/// A `gmond` of one host, this one, which measures each second; and where it says what it knows.
fn gmond(folder: &Folder) -> (Program, SocketAddr) {
    let own = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let own = own.local_addr().expect("it is bound").port();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    let modules = modules();
    let text = format!(
        "globals {{ daemonize = no setuid = no debug_level = 0 mute = no deaf = no host_dmax = 0 \
         cleanup_threshold = 300 gexec = no send_metadata_interval = 1 }}\n\
         cluster {{ name = \"test\" }}\n\
         udp_send_channel {{ host = 127.0.0.1 port = {own} }}\n\
         udp_recv_channel {{ bind = 127.0.0.1 port = {own} }}\n\
         tcp_accept_channel {{ bind = 127.0.0.1 port = {} }}\n\
         modules {{ module {{ name = \"core_metrics\" }}\n\
         module {{ name = \"cpu_module\" path = \"{modules}/modcpu.so\" }}\n\
         module {{ name = \"load_module\" path = \"{modules}/modload.so\" }}\n\
         module {{ name = \"mem_module\" path = \"{modules}/modmem.so\" }} }}\n\
         collection_group {{ collect_once = yes time_threshold = 1 metric {{ name = \"heartbeat\" }} }}\n\
         collection_group {{ collect_every = 1 time_threshold = 1\n\
         metric {{ name = \"cpu_num\" }} metric {{ name = \"load_one\" }} metric {{ name = \"mem_free\" }} }}\n",
        address.port()
    );
    let file = folder.write("gmond.conf", text);
    let mut command = Command::new(GMOND);
    command.arg("-f").arg("-c").arg(file);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    (Program(command.spawn().expect("it starts")), address)
}

/// The document that a `gmond` says now; `None` where it does not listen yet.
fn document(address: SocketAddr) -> Option<Vec<u8>> {
    let mut stream = TcpStream::connect(address).ok()?;
    let mut document = Vec::new();
    stream.read_to_end(&mut document).ok()?;
    Some(document)
}

/// Waits until there is something, which the test's own time limit bounds.
fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1_200 {
        if let Some(found) = found() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{what}");
}

#[tokio::test]
async fn a_provider_without_a_monitor_is_known_by_a_live_gmond() {
    if !Path::new(GMOND).exists() {
        assert!(std::env::var_os("CI").is_none(), "gmond is not installed");
        eprintln!("skipped: gmond is not installed");
        return;
    }
    let folder = folder();
    let (program, source) = gmond(&folder);
    let text = format!("{SERVER}[[gmond]]\naddress = \"{source}\"\n");
    let text = config(&folder, &text).unwrap_or_else(|problems| panic!("{problems}"));
    let running = start(text).await.unwrap_or_else(|error| panic!("{error}"));
    let (own, address) = (client(&folder, "p1"), running.address());
    waiting(move || {
        call(address, &own, &uddi::write_request(&business(HOME)));
        // Its own document has a document type before it, which no document of ours has.
        let said = until("gmond measures", || {
            let document = document(source)?;
            let text = String::from_utf8_lossy(&document);
            assert!(text.contains("<!DOCTYPE GANGLIA_XML ["), "{text}");
            let hosts = ganglia::read(&document).expect("a document of Ganglia");
            let host = hosts.first()?.host();
            let whole = [host.cpu_num, host.load_one, host.mem_free];
            whole.iter().all(Option::is_some).then_some(host)
        });
        let provider = until("the registry knows it", || {
            let provider = providers(&running).remove(0);
            provider
                .host
                .is_some_and(|it| it.mem_free.is_some())
                .then_some(provider)
        });
        assert_eq!(provider.state, State::Active);
        let host = provider.host.expect("a host");
        assert_eq!(host.cpu_num, said.cpu_num);
        assert!(
            host.cpu_num >= Some(1.0) && host.mem_free > Some(0.0),
            "{host:?}"
        );
        assert!(host.load_one.is_some(), "{host:?}");
        assert_eq!(provider.figures, None, "no monitor of ours reports");
        // What it said is known as long as Ganglia itself takes a host for up.
        drop(program);
        assert_eq!(document(source), None);
        assert_eq!(providers(&running)[0].state, State::Active);
    })
    .await;
}
