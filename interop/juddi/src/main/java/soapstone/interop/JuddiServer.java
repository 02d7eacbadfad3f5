package soapstone.interop;

import javax.xml.ws.Endpoint;

import org.apache.juddi.api.impl.UDDIInquiryImpl;
import org.apache.juddi.api.impl.UDDIPublicationImpl;
import org.apache.juddi.api.impl.UDDISecurityImpl;
import org.apache.juddi.config.AppConfig;

/** jUDDI's registry, as CXF serves it. */
final class JuddiServer {
    private JuddiServer() {
    }

    static void serve(String port) throws Exception {
        // The database is made, and jUDDI's own entries are put into it.
        AppConfig.getInstance();
        String base = "http://127.0.0.1:" + port + "/juddiv3/services/";
        Endpoint.publish(base + "inquiry", new UDDIInquiryImpl());
        Endpoint.publish(base + "publish", new UDDIPublicationImpl());
        Endpoint.publish(base + "security", new UDDISecurityImpl());
        System.out.println("ready");
        while (System.in.read() >= 0) {
            continue;
        }
    }
}
