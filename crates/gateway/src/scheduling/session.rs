//! The Kerberos session of a request that leaves.
//!
//! The rule kept here: no worker waits for the KDC, and nobody names a session that the other side
//! may not know.

use std::sync::Arc;

use soapstone::wss::{KerberosSession, SecureError};

use super::endpoint::OutboundEndpoint;
use super::task::Desk;

/// A Kerberos session until the other side has accepted the request. Dropped before that, the
/// session is forgotten: the other side may not know it, and would refuse every request that names
/// it.
///
/// The word of the other side is not proven. Forged, it costs one more token.
pub(crate) struct SessionInUse {
    endpoint: Arc<OutboundEndpoint>,
    session: Option<KerberosSession>,
}

impl SessionInUse {
    /// The session of the next request, where its endpoint has tokens. It waits for the KDC apart
    /// from the workers.
    pub(crate) async fn begin(
        endpoint: &Arc<OutboundEndpoint>,
        desk: &Desk,
    ) -> Result<Option<Self>, SecureError> {
        let now = jiff::Timestamp::now();
        let session = endpoint.endpoint.kerberos_session(desk.workspace(), now);
        let session = session.await?;
        Ok(session.map(|session| Self {
            endpoint: Arc::clone(endpoint),
            session: Some(session),
        }))
    }

    pub(crate) const fn session(&self) -> Option<&KerberosSession> {
        self.session.as_ref()
    }

    /// Keeps the session for later requests: the other side has accepted this one.
    pub(crate) fn accepted(mut self) {
        self.session = None;
    }
}

impl Drop for SessionInUse {
    fn drop(&mut self) {
        if let Some(session) = &self.session {
            self.endpoint.endpoint.forget_kerberos_session(session);
        }
    }
}
