package soapstone.interop;

import org.apache.cxf.Bus;
import org.apache.cxf.ws.security.tokenstore.SecurityToken;
import org.apache.cxf.ws.security.trust.STSClient;

/** Counts what became of the security contexts that a client asked for: CXF itself keeps a failed Cancel to itself. */
final class Tokens extends STSClient {
    private int issued;
    private int renewed;
    private int cancelled;

    Tokens(Bus bus) {
        super(bus);
    }

    @Override
    public SecurityToken requestSecurityToken(String appliesTo) throws Exception {
        SecurityToken token = super.requestSecurityToken(appliesTo);
        issued++;
        return token;
    }

    @Override
    public SecurityToken renewSecurityToken(SecurityToken token) throws Exception {
        SecurityToken renewal = super.renewSecurityToken(token);
        renewed++;
        return renewal;
    }

    @Override
    public boolean cancelSecurityToken(SecurityToken token) throws Exception {
        boolean done = super.cancelSecurityToken(token);
        cancelled += done ? 1 : 0;
        return done;
    }

    /** The counts, as the fields of a JSON object. */
    String counts() {
        return "\"issued\":" + issued + ",\"renewed\":" + renewed + ",\"cancelled\":" + cancelled;
    }
}
