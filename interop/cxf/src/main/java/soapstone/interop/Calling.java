package soapstone.interop;

import java.io.InputStream;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Instant;
import java.util.Map;

import javax.xml.namespace.QName;
import javax.xml.transform.Source;
import javax.xml.transform.dom.DOMSource;

import jakarta.xml.ws.BindingProvider;
import jakarta.xml.ws.Dispatch;
import jakarta.xml.ws.Service;

import org.apache.cxf.endpoint.Client;
import org.apache.cxf.jaxws.DispatchImpl;
import org.apache.cxf.rt.security.SecurityConstants;
import org.apache.cxf.staxutils.StaxUtils;
import org.apache.cxf.transport.http.HTTPConduit;
import org.apache.cxf.ws.security.tokenstore.SecurityToken;
import org.w3c.dom.Document;

/** Calls a service the way its WSDL says. */
final class Calling {
    private static final long TIMEOUT_MILLIS = 20_000;

    private Calling() {
    }

    /** Sends the content of the plain envelope {@code request}; writes the content of the last answer. What is given back counts tokens. */
    static String call(Options options, Path request, Path answer) throws Exception {
        Tls.trust(options);
        URL wsdl = location(options.required("wsdl"));
        Service service = Service.create(wsdl, QName.valueOf(options.required("service")));
        QName port = QName.valueOf(options.required("port"));
        Dispatch<Source> dispatch = service.createDispatch(port, Source.class, Service.Mode.PAYLOAD);
        Client client = ((DispatchImpl<?>) dispatch).getClient();
        try {
            settle((HTTPConduit) client.getConduit(), options);
            Map<String, Object> context = dispatch.getRequestContext();
            context.putAll(Properties.of(options));
            context.put("find.dispatch.operation", Boolean.TRUE);
            if (options.optional("address") != null) {
                context.put(BindingProvider.ENDPOINT_ADDRESS_PROPERTY, options.required("address"));
            }
            Tokens tokens = new Tokens(client.getBus());
            context.put(SecurityConstants.STS_CLIENT, tokens);
            if (Boolean.parseBoolean(options.optional("cancel"))) {
                context.put(SecurityConstants.STS_TOKEN_DO_CANCEL, Boolean.TRUE);
            }
            Document payload;
            try (InputStream envelope = Files.newInputStream(request)) {
                payload = Forwarding.content(StaxUtils.read(envelope));
            }
            byte[] content = null;
            for (int calls = Integer.parseInt(options.optional("calls", "1")); calls > 0; calls--) {
                content = Forwarding.write(dispatch.invoke(new DOMSource(payload)));
                if (Boolean.parseBoolean(options.optional("renew"))) {
                    expire(client);
                }
            }
            Files.write(answer, content);
            return "{\"exit\":0," + tokens.counts() + "}";
        } finally {
            client.destroy();
        }
    }

    /** Makes the client believe that its security context has expired, so that its next call renews it. */
    private static void expire(Client client) {
        SecurityToken token = (SecurityToken) client.getEndpoint().get(org.apache.cxf.ws.security.SecurityConstants.TOKEN);
        token.setExpires(Instant.now().minusSeconds(1));
    }

    private static URL location(String text) throws Exception {
        return text.contains("://") ? URI.create(text).toURL() : Path.of(text).toUri().toURL();
    }

    private static void settle(HTTPConduit conduit, Options options) throws GeneralSecurityException {
        conduit.getClient().setConnectionTimeout(TIMEOUT_MILLIS);
        conduit.getClient().setReceiveTimeout(TIMEOUT_MILLIS);
        Tls.trust(conduit, options);
    }
}
