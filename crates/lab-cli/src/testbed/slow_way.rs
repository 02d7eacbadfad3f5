//! A way to a service that can be made slow while calls travel on it.
//!
//! The rule kept here: requests pass as they come. Each piece of an answer waits as long as the way
//! was told last.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::apart::LOOPBACK;
use crate::failure::Failure;

/// A port of localhost that leads to a service. It is closed when it is dropped.
pub(crate) struct SlowWay {
    address: SocketAddr,
    milliseconds: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl SlowWay {
    /// A way to that address, which is as quick as any at first.
    pub(crate) async fn to(target: SocketAddr) -> Result<Self, Failure> {
        let listener = TcpListener::bind((LOOPBACK, 0)).await;
        let listener = listener.map_err(Failure::new)?;
        let address = listener.local_addr().map_err(Failure::new)?;
        let milliseconds = Arc::<AtomicU64>::default();
        let told = Arc::clone(&milliseconds);
        let task = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(pass(near, target, Arc::clone(&told)));
            }
        });
        Ok(Self {
            address,
            milliseconds,
            task,
        })
    }

    /// Where it begins.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Makes answers late from now on.
    pub(crate) fn delay(&self, milliseconds: u64) {
        self.milliseconds.store(milliseconds, Ordering::Relaxed);
    }
}

impl Drop for SlowWay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Passes bytes both ways until one side ends.
async fn pass(
    near: TcpStream,
    target: SocketAddr,
    milliseconds: Arc<AtomicU64>,
) -> std::io::Result<()> {
    let far = TcpStream::connect(target).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let (mut requests, mut to_client) = near.into_split();
    let (mut answers, mut to_service) = far.into_split();
    let there = async {
        tokio::io::copy(&mut requests, &mut to_service)
            .await
            .map(drop)
    };
    let back = async {
        let mut piece = vec![0; 65_536];
        loop {
            let length = answers.read(&mut piece).await?;
            if length == 0 {
                return Ok(());
            }
            let delay = Duration::from_millis(milliseconds.load(Ordering::Relaxed));
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            to_client.write_all(&piece[..length]).await?;
        }
    };
    // The end of one direction is the end of the connection: clients here close no half of it.
    tokio::select! {
        ended = there => ended,
        ended = back => ended,
    }
}
