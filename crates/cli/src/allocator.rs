//! The allocator of the programs: jemalloc, which gives memory back that nobody uses.
//!
//! Bursts of messages leave the C library's heap in pieces, and it keeps them. jemalloc gives a
//! page back some ten seconds after its last use. Where a program rests, a thread of its own has
//! to do so. Programs that are built without the feature `jemalloc`, or for other systems than
//! Linux with the GNU C library, have the allocator of the system.

#[cfg(all(feature = "jemalloc", target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static JEMALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Has memory given back while the program rests. Where that cannot be, memory waits for the next
/// message.
pub(crate) fn give_back_while_resting() {
    #[cfg(all(feature = "jemalloc", target_os = "linux", target_env = "gnu"))]
    if let Err(problem) = tikv_jemalloc_ctl::background_thread::write(true) {
        tracing::debug!(%problem, "memory is given back with the next message only");
    }
}
