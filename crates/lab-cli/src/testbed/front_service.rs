//! A plain service that asks another plain service for books: the first of two in a chain.
//!
//! It knows nothing of tokens. The header blocks of a request go into its own request, so that a
//! gateway behind it learns for whom it asks.
//!
//! The rule kept here: the request for books is in its own words. Of the client's message nothing
//! goes on but header blocks.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use soapstone::xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, Element, ParseOptions,
    canonicalize,
};
use soapstone_services::{Service, SoapVersion, requests};

use super::server::Server;
use crate::failure::Failure;

/// The service. It stops when it is dropped.
pub(crate) struct FrontService(Server);

type HttpClient = Client<HttpConnector, Full<Bytes>>;

impl FrontService {
    /// One that asks for books at this address, below the path that it is called at.
    pub(crate) async fn start(books: SocketAddr) -> Result<Self, Failure> {
        let client: HttpClient = Client::builder(TokioExecutor::new()).build_http();
        let server = Server::start(move |request| {
            let client = client.clone();
            async move { answer(request, books, &client).await }
        });
        server.await.map(Self)
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

async fn answer(
    request: Request<Incoming>,
    books: SocketAddr,
    client: &HttpClient,
) -> Result<Response<Full<Bytes>>, String> {
    let path = request.uri().path().to_owned();
    let message = whole(request.into_body()).await?;
    let version = SoapVersion::Soap11;
    let request = Request::post(format!("http://{books}{path}"))
        .header(header::CONTENT_TYPE, version.content_type())
        .header(
            "SOAPAction",
            format!("\"{}\"", Service::Books.soap_action()),
        )
        .body(Full::new(Bytes::from(own_request(&message)?)))
        .map_err(|error| error.to_string())?;
    let answer = client.request(request).await;
    let (head, body) = answer.map_err(|error| error.to_string())?.into_parts();
    let mut response = Response::new(Full::new(whole(body).await?));
    *response.status_mut() = head.status;
    if let Some(content) = head.headers.get(header::CONTENT_TYPE) {
        let fields = response.headers_mut();
        fields.insert(header::CONTENT_TYPE, content.clone());
    }
    Ok(response)
}

async fn whole(body: Incoming) -> Result<Bytes, String> {
    let body = body.collect().await.map_err(|error| error.to_string())?;
    Ok(body.to_bytes())
}

/// The request for as many books as the client wants, with the client's header blocks.
fn own_request(message: &[u8]) -> Result<String, String> {
    let options = ParseOptions::default();
    let document = Document::parse(message.to_vec(), &options, &mut Buffers::default());
    let document = document.map_err(|error| error.to_string())?;
    let root = document.root();
    let part = |name| root.child(root.namespace(), name);
    let body = part("Body").and_then(|body| body.first_child());
    let count = body.and_then(|asked| asked.first_child());
    let count = count.and_then(|count| count.text().parse().ok());
    let count = count.ok_or("expected a request for a number of books")?;
    let mut blocks = Vec::new();
    for block in part("Header").iter().flat_map(Element::children) {
        // With every namespace that is in scope, the block means elsewhere what it means here.
        canonicalize(
            &document,
            Apex::Element(block.id()),
            &C14nOptions::new(Canonicalization::Inclusive10),
            &mut C14nScratch::default(),
            &mut blocks,
        )
        .map_err(|error| error.to_string())?;
    }
    let blocks = String::from_utf8(blocks).map_err(|error| error.to_string())?;
    let request = requests::get_books(SoapVersion::Soap11, count);
    Ok(match blocks.is_empty() {
        true => request,
        false => request.replacen(
            "<soap:Body>",
            &format!("<soap:Header>{blocks}</soap:Header><soap:Body>"),
            1,
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_blocks_go_into_a_request_of_its_own() {
        let plain = requests::get_books(SoapVersion::Soap11, 7);
        assert_eq!(own_request(plain.as_bytes()).as_deref(), Ok(&*plain));
        let with = |body: &str, block: &str| {
            let header = format!("<soap:Header>{block}</soap:Header>{body}");
            plain.replacen(body, &header, 1)
        };
        let message = with("<soap:Body>", "<a:who xmlns:a=\"urn:a\">alice</a:who>")
            .replace("<n>", "<n xmlns:b=\"urn:b\">");
        let soap = "http://schemas.xmlsoap.org/soap/envelope/";
        let block = format!("<a:who xmlns:a=\"urn:a\" xmlns:soap=\"{soap}\">alice</a:who>");
        let expected = with("<soap:Body>", &block);
        assert_eq!(own_request(message.as_bytes()), Ok(expected));
        let echo = requests::echo(SoapVersion::Soap11, "words");
        assert_eq!(
            own_request(echo.as_bytes()),
            Err("expected a request for a number of books".to_owned())
        );
    }
}
