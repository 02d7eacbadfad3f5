//! nginx and HAProxy with round robin in front of providers: what a broker is compared with.
//!
//! The rule kept here: both keep connections, leave providers out that fail, and send a call that
//! failed to another provider. HAProxy also checks providers, which nginx cannot.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{self, Command, Stdio};
use std::time::{Duration, Instant};

use super::architecture::free_address;
use crate::failure::Failure;

/// How long one may take until it listens.
const PATIENCE: Duration = Duration::from_secs(10);

/// One that runs.
pub(crate) struct RoundRobin {
    process: process::Child,
    address: SocketAddr,
}

/// A program, by its name here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Balancer {
    Nginx,
    Haproxy,
}

impl RoundRobin {
    /// Starts one in front of these addresses; its files are in the folder.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(crate) fn start(
        balancer: Balancer,
        folder: &Path,
        targets: &[SocketAddr],
    ) -> Result<Self, String> {
        let address = free_address().map_err(|failure| failure_text(&failure))?;
        let (program, text) = match balancer {
            Balancer::Nginx => ("nginx", nginx_file(address, folder, targets)),
            Balancer::Haproxy => ("haproxy", haproxy_file(address, targets)),
        };
        let file = folder.join(format!("{program}-{}.conf", address.port()));
        std::fs::write(&file, text).map_err(|error| error.to_string())?;
        // Where Debian has it, and where the path of a user often does not lead.
        let beside = format!("/usr/sbin/{program}");
        let known = Path::new(&beside).is_file();
        let mut command = Command::new(if known { beside.as_str() } else { program });
        match balancer {
            Balancer::Nginx => command.arg("-c").arg(&file),
            Balancer::Haproxy => command.arg("-db").arg("-f").arg(&file),
        };
        let process = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{program}: {error}"))?;
        let mut started = Self { process, address };
        let given_up = Instant::now() + PATIENCE;
        while TcpStream::connect(address).is_err() {
            let ended = started.process.try_wait().ok().flatten();
            if ended.is_some() || Instant::now() > given_up {
                return Err(format!("{program} does not start"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(started)
    }

    /// Where clients call.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for RoundRobin {
    fn drop(&mut self) {
        // Asked to end, nginx ends its workers; killed, it would leave them.
        #[cfg(unix)]
        if let Some(id) = rustix::process::Pid::from_raw(self.process.id().cast_signed()) {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        #[cfg(not(unix))]
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn failure_text(failure: &Failure) -> String {
    failure.to_string()
}

fn nginx_file(listen: SocketAddr, folder: &Path, targets: &[SocketAddr]) -> String {
    let servers = targets.iter();
    let servers: String = servers
        .map(|it| format!("server {it} max_fails=1 fail_timeout=1s; "))
        .collect();
    let folder = folder.display();
    let port = listen.port();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|it| format!("{it}_temp_path {folder}/nginx-{port}-{it}; "))
        .concat();
    format!(
        "daemon off;\nuser root;\nworker_processes 1;\npid {folder}/nginx-{port}.pid;\nerror_log /dev/null crit;\n\
         events {{ worker_connections 1024; }}\nhttp {{\n  access_log off;\n  {temporary}\n  client_body_buffer_size 256k;\n\
         \x20 upstream providers {{ {servers}keepalive 64; }}\n  server {{\n    listen {listen};\n    location / {{\n\
         \x20     proxy_pass http://providers;\n      proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n\
         \x20     proxy_next_upstream error timeout non_idempotent;\n    }}\n  }}\n}}\n"
    )
}

fn haproxy_file(listen: SocketAddr, targets: &[SocketAddr]) -> String {
    let servers = targets.iter().enumerate();
    let servers: String = servers
        .map(|(index, it)| format!("  server provider-{index} {it}\n"))
        .collect();
    format!(
        "defaults\n  mode http\n  timeout connect 1s\n  timeout client 60s\n  timeout server 60s\n  retries 2\n\
         \x20 option redispatch 1\n  retry-on conn-failure empty-response\n  http-reuse always\n\
         frontend calls\n  bind {listen}\n  default_backend providers\nbackend providers\n  balance roundrobin\n\
         \x20 default-server check inter 500ms fall 1 rise 1\n{servers}"
    )
}
