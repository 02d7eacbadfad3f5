package soapstone.interop;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;

import javax.xml.transform.OutputKeys;
import javax.xml.transform.Source;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;

import jakarta.xml.ws.Provider;
import jakarta.xml.ws.Service;
import jakarta.xml.ws.ServiceMode;
import jakarta.xml.ws.WebServiceException;
import jakarta.xml.ws.WebServiceProvider;

import org.apache.cxf.staxutils.StaxUtils;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/** Passes the content of a Body on to a plain SOAP 1.1 service, and gives back the content of the answer's. */
@WebServiceProvider
@ServiceMode(Service.Mode.PAYLOAD)
class Forwarding implements Provider<Source> {
    private static final String SOAP = "http://schemas.xmlsoap.org/soap/envelope/";

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final URI backend;

    Forwarding(String backend) {
        this.backend = URI.create(backend);
    }

    @Override
    public Source invoke(Source request) {
        try {
            String envelope = "<soap:Envelope xmlns:soap=\"" + SOAP + "\"><soap:Body>"
                + new String(write(request), StandardCharsets.UTF_8) + "</soap:Body></soap:Envelope>";
            HttpResponse<InputStream> answer = http.send(HttpRequest.newBuilder(backend)
                .header("Content-Type", "text/xml; charset=utf-8").header("SOAPAction", "\"\"")
                .POST(HttpRequest.BodyPublishers.ofString(envelope)).build(), HttpResponse.BodyHandlers.ofInputStream());
            try (InputStream body = answer.body()) {
                return new DOMSource(content(StaxUtils.read(body)));
            }
        } catch (Exception e) {
            throw new WebServiceException(backend + ": " + e.getMessage(), e);
        }
    }

    /** The octets of a payload, without an XML declaration. */
    static byte[] write(Source source) throws TransformerException, IOException {
        ByteArrayOutputStream octets = new ByteArrayOutputStream();
        Transformer transformer = TransformerFactory.newInstance().newTransformer();
        transformer.setOutputProperty(OutputKeys.OMIT_XML_DECLARATION, "yes");
        transformer.transform(source, new StreamResult(octets));
        return octets.toByteArray();
    }

    /** The first element inside the Body, as a document of its own. */
    static Document content(Document envelope) {
        Node body = envelope.getElementsByTagNameNS("*", "Body").item(0);
        for (Node child = body.getFirstChild(); child != null; child = child.getNextSibling()) {
            if (child instanceof Element) {
                Document document = envelope.getImplementation().createDocument(null, null, null);
                document.appendChild(document.importNode(child, true));
                return document;
            }
        }
        throw new IllegalArgumentException("expected an element in the Body, found none");
    }
}
