package soapstone.interop;

import java.net.URI;
import java.security.GeneralSecurityException;

import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

import org.apache.cxf.Bus;
import org.apache.cxf.configuration.jsse.TLSClientParameters;
import org.apache.cxf.configuration.jsse.TLSServerParameters;
import org.apache.cxf.configuration.security.ClientAuthentication;
import org.apache.cxf.transport.http.HTTPConduit;
import org.apache.cxf.transport.http_jetty.JettyHTTPServerEngineFactory;

/**
 * The same keys and anchors for connections as for messages. With {@code --mutual true} clients show certificates, and services ask
 * for them.
 */
final class Tls {
    private Tls() {
    }

    /** Lets a service at an {@code https} address be published. */
    static void serve(Bus bus, URI address, Options options) throws Exception {
        JettyHTTPServerEngineFactory engines = bus.getExtension(JettyHTTPServerEngineFactory.class);
        if (address.getScheme().equals("https") && engines.retrieveJettyHTTPServerEngine(address.getPort()) == null) {
            TLSServerParameters parameters = new TLSServerParameters();
            parameters.setKeyManagers(keys(options));
            if (options.is("mutual")) {
                ClientAuthentication asking = new ClientAuthentication();
                asking.setWant(true);
                parameters.setClientAuthentication(asking);
                parameters.setTrustManagers(anchors(options));
            }
            engines.setTLSServerParametersForPort(address.getPort(), parameters);
        }
    }

    /** Makes a client trust the anchors. */
    static void trust(HTTPConduit conduit, Options options) {
        TLSClientParameters parameters = new TLSClientParameters();
        parameters.setTrustManagers(anchors(options));
        if (options.is("mutual")) {
            parameters.setKeyManagers(keys(options));
        }
        conduit.setTlsClientParameters(parameters);
    }

    /** Makes whatever reads a WSDL trust the anchors. */
    static void trust(Options options) throws GeneralSecurityException {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, anchors(options), null);
        SSLContext.setDefault(context);
    }

    private static KeyManager[] keys(Options options) {
        try {
            KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            factory.init(Keys.identity(options), Keys.STORE_PASSWORD.toCharArray());
            return factory.getKeyManagers();
        } catch (GeneralSecurityException e) {
            throw new IllegalArgumentException("keys: " + e.getMessage(), e);
        }
    }

    private static TrustManager[] anchors(Options options) {
        try {
            TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init(Keys.anchors(options));
            return factory.getTrustManagers();
        } catch (GeneralSecurityException e) {
            throw new IllegalArgumentException("anchors: " + e.getMessage(), e);
        }
    }
}
