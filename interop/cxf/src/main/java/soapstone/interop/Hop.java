package soapstone.interop;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

import jakarta.xml.soap.MessageFactory;
import jakarta.xml.soap.MimeHeaders;
import jakarta.xml.soap.SOAPConstants;
import jakarta.xml.soap.SOAPHeaderElement;
import jakarta.xml.soap.SOAPMessage;
import jakarta.xml.ws.Provider;
import jakarta.xml.ws.Service;
import jakarta.xml.ws.ServiceMode;
import jakarta.xml.ws.WebServiceException;
import jakarta.xml.ws.WebServiceProvider;

import org.apache.cxf.BusFactory;
import org.apache.cxf.jaxws.EndpointImpl;
import org.apache.cxf.ws.security.wss4j.WSS4JInInterceptor;
import org.apache.cxf.ws.security.wss4j.WSS4JOutInterceptor;
import org.apache.wss4j.common.ConfigurationConstants;

/**
 * A node on the way: WSS4J's interceptor verifies the Security header of one actor, and the message goes on to the next
 * node without it. Its answer comes back as it is, or signed for a node that it reaches.
 */
@WebServiceProvider
@ServiceMode(Service.Mode.MESSAGE)
class Hop implements Provider<SOAPMessage> {
    private static final String CRYPTO = "soapstone.crypto";

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final URI next;
    private final String actor;

    Hop(URI next, String actor) {
        this.next = next;
        this.actor = actor;
    }

    /** Serves it at an address, in SOAP 1.1. */
    static EndpointImpl publish(Options options) {
        String actor = options.required("actor");
        Map<String, Object> verifying = new HashMap<>();
        verifying.put(ConfigurationConstants.ACTION,
            ConfigurationConstants.TIMESTAMP + " " + ConfigurationConstants.SIGNATURE);
        verifying.put(ConfigurationConstants.ACTOR, actor);
        verifying.put(ConfigurationConstants.SIG_VER_PROP_REF_ID, CRYPTO);
        verifying.put(CRYPTO, Keys.crypto(options));
        EndpointImpl endpoint =
            new EndpointImpl(BusFactory.getDefaultBus(), new Hop(URI.create(options.required("next")), actor));
        endpoint.getInInterceptors().add(new WSS4JInInterceptor(verifying));
        if (options.optional("answers-actor") != null) {
            endpoint.getOutInterceptors().add(new WSS4JOutInterceptor(signing(options)));
        }
        endpoint.publish(options.required("address"));
        return endpoint;
    }

    /** What answers get for the node that they reach next. WSS4J would sign the Timestamp of the first header. */
    private static Map<String, Object> signing(Options options) {
        Map<String, Object> signing = new HashMap<>();
        signing.put(ConfigurationConstants.ACTION, ConfigurationConstants.SIGNATURE);
        signing.put(ConfigurationConstants.ACTOR, options.required("answers-actor"));
        signing.put(ConfigurationConstants.SIG_PROP_REF_ID, CRYPTO);
        signing.put(CRYPTO, Keys.crypto(options));
        signing.put(ConfigurationConstants.USER, Keys.OURS);
        signing.put(ConfigurationConstants.PW_CALLBACK_REF, Properties.passwords(options));
        signing.put(ConfigurationConstants.SIG_KEY_ID, "DirectReference");
        signing.put(ConfigurationConstants.SIG_ALGO, "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256");
        signing.put(ConfigurationConstants.SIG_DIGEST_ALGO, "http://www.w3.org/2001/04/xmlenc#sha256");
        signing.put(ConfigurationConstants.SIGNATURE_PARTS, "{}{http://schemas.xmlsoap.org/soap/envelope/}Body");
        return signing;
    }

    @Override
    public SOAPMessage invoke(SOAPMessage request) {
        try {
            withoutOwnHeader(request);
            ByteArrayOutputStream octets = new ByteArrayOutputStream();
            request.writeTo(octets);
            HttpResponse<byte[]> answer = http.send(HttpRequest.newBuilder(next)
                .header("Content-Type", "text/xml; charset=utf-8").header("SOAPAction", "\"\"")
                .POST(HttpRequest.BodyPublishers.ofByteArray(octets.toByteArray())).build(),
                HttpResponse.BodyHandlers.ofByteArray());
            return MessageFactory.newInstance(SOAPConstants.SOAP_1_1_PROTOCOL)
                .createMessage(new MimeHeaders(), new ByteArrayInputStream(answer.body()));
        } catch (Exception e) {
            throw new WebServiceException(next + ": " + e.getMessage(), e);
        }
    }

    private void withoutOwnHeader(SOAPMessage message) throws Exception {
        List<SOAPHeaderElement> own = new ArrayList<>();
        Iterator<SOAPHeaderElement> blocks = message.getSOAPHeader().examineAllHeaderElements();
        while (blocks.hasNext()) {
            SOAPHeaderElement block = blocks.next();
            if (actor.equals(block.getActor())) {
                own.add(block);
            }
        }
        own.forEach(SOAPHeaderElement::detachNode);
        message.saveChanges();
    }
}
