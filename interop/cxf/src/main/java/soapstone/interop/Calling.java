package soapstone.interop;

import java.io.InputStream;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import javax.xml.namespace.QName;
import javax.xml.transform.Source;
import javax.xml.transform.dom.DOMSource;

import jakarta.xml.soap.SOAPMessage;
import jakarta.xml.ws.Dispatch;
import jakarta.xml.ws.Service;
import jakarta.xml.ws.handler.MessageContext;

import org.apache.cxf.BusFactory;
import org.apache.cxf.endpoint.Client;
import org.apache.cxf.jaxws.DispatchImpl;
import org.apache.cxf.message.Message;
import org.apache.cxf.staxutils.StaxUtils;
import org.apache.cxf.transport.http.HTTPConduit;
import org.apache.cxf.transport.http.HTTPConduitConfigurer;
import org.apache.cxf.transports.http.configuration.HTTPClientPolicy;
import org.apache.cxf.ws.security.SecurityConstants;
import org.apache.cxf.ws.security.tokenstore.SecurityToken;
import org.w3c.dom.Document;

/** Calls a service the way its WSDL says. */
final class Calling {
    private static final String TIMEOUT_SECONDS = "20";

    private Calling() {
    }

    /** A client of one port. */
    interface Caller {
        Client client();

        Map<String, Object> context();

        /** Sends a payload, or a whole envelope; the octets of the answer's. */
        byte[] call(Document sent) throws Exception;
    }

    /**
     * Sends the content of the plain envelope {@code request} and writes the content of the last answer, or does so with whole
     * envelopes; what became of security contexts is given back.
     */
    static String call(Options options, Path request, Path answer) throws Exception {
        Tls.trust(options);
        HTTPConduitConfigurer settling = (name, address, conduit) -> settle(conduit, options);
        BusFactory.getDefaultBus().setExtension(settling, HTTPConduitConfigurer.class);
        Caller caller = caller(options);
        Client client = caller.client();
        try {
            Tokens tokens = new Tokens(client.getBus());
            Map<String, Object> context = caller.context();
            context.putAll(Properties.of(options));
            context.putAll(Tickets.of(options));
            context.put(SecurityConstants.STS_CLIENT, tokens);
            context.put(SecurityConstants.STS_TOKEN_DO_CANCEL, options.is("cancel"));
            context.put(Message.ENDPOINT_ADDRESS, options.required("address"));
            Document sent;
            try (InputStream envelope = Files.newInputStream(request)) {
                sent = StaxUtils.read(envelope);
            }
            if (!options.is("whole")) {
                sent = Forwarding.content(sent);
            }
            byte[] content = null;
            for (int calls = Integer.parseInt(options.optional("calls", "1")); calls > 0; calls--) {
                content = caller.call(sent);
                if (options.is("renew")) {
                    expire(client);
                }
            }
            Files.write(answer, content);
            return "{\"exit\":0," + tokens.counts() + "}";
        } finally {
            client.destroy();
        }
    }

    private static Caller caller(Options options) throws Exception {
        URL wsdl = location(options.required("wsdl"));
        QName service = QName.valueOf(options.required("service"));
        QName port = QName.valueOf(options.required("port"));
        if (options.is("whole")) {
            return new Whole(wsdl, service, port, QName.valueOf(options.required("operation")));
        }
        return options.is("generated") ? new Generated(wsdl, service, port) : new Dispatching(wsdl, service, port);
    }

    /** Without any class for the messages. */
    private static final class Dispatching implements Caller {
        private final Dispatch<Source> dispatch;

        Dispatching(URL wsdl, QName service, QName port) {
            dispatch = Service.create(wsdl, service).createDispatch(port, Source.class, Service.Mode.PAYLOAD);
            dispatch.getRequestContext().put("find.dispatch.operation", Boolean.TRUE);
        }

        @Override
        public Client client() {
            return ((DispatchImpl<?>) dispatch).getClient();
        }

        @Override
        public Map<String, Object> context() {
            return dispatch.getRequestContext();
        }

        @Override
        public byte[] call(Document payload) throws Exception {
            return Forwarding.write(dispatch.invoke(new DOMSource(payload)));
        }
    }

    /** Sends envelopes. An operation is told by name, as nothing in an empty Body tells it. */
    private static final class Whole implements Caller {
        private final Dispatch<SOAPMessage> dispatch;
        private final boolean soap12;

        Whole(URL wsdl, QName service, QName port, QName operation) {
            dispatch = Service.create(wsdl, service).createDispatch(port, SOAPMessage.class, Service.Mode.MESSAGE);
            dispatch.getRequestContext().put(MessageContext.WSDL_OPERATION, operation);
            soap12 = port.getLocalPart().contains("Soap12");
        }

        @Override
        public Client client() {
            return ((DispatchImpl<?>) dispatch).getClient();
        }

        @Override
        public Map<String, Object> context() {
            return dispatch.getRequestContext();
        }

        @Override
        public byte[] call(Document envelope) throws Exception {
            return Enclosing.write(dispatch.invoke(Enclosing.message(new DOMSource(envelope), soap12)));
        }
    }

    /** Makes the client believe that its security context has expired, so that its next call renews it. */
    private static void expire(Client client) {
        SecurityToken token = (SecurityToken) client.getEndpoint().get(SecurityConstants.TOKEN);
        token.setExpires(Instant.now().minusSeconds(1));
    }

    private static URL location(String text) throws Exception {
        return text.contains("://") ? URI.create(text).toURL() : Path.of(text).toUri().toURL();
    }

    /** For every connection, also those that ask for tokens. */
    static void settle(HTTPConduit conduit, Options options) {
        HTTPClientPolicy policy = new HTTPClientPolicy();
        long timeout = TimeUnit.SECONDS.toMillis(Long.parseLong(options.optional("timeout", TIMEOUT_SECONDS)));
        policy.setConnectionTimeout(timeout);
        policy.setReceiveTimeout(timeout);
        policy.setVersion("1.1");
        conduit.setClient(policy);
        Tls.trust(conduit, options);
    }
}
