using System.ServiceModel;

namespace Soapstone.Interop {
    /// <summary>crates/services/contract/echo.wsdl</summary>
    [ServiceContract(Namespace = "urn:soapstone:services:echo", Name = "Echo")]
    interface IEcho {
        [OperationContract(Action = "urn:soapstone:services:echo:Echo", ReplyAction = "*")]
        [return: MessageParameter(Name = "text")]
        string Echo(string text);
    }

    /// <summary>crates/services/contract/sum.wsdl</summary>
    [ServiceContract(Namespace = "urn:soapstone:services:sum", Name = "Sum")]
    interface ISum {
        [OperationContract(Action = "urn:soapstone:services:sum:Sum", ReplyAction = "*")]
        [return: MessageParameter(Name = "sum")]
        long Sum(int a, int b);
    }

    [ServiceBehavior(IncludeExceptionDetailInFaults = true)]
    sealed class Echoing : IEcho {
        public string Echo(string text) {
            return text;
        }
    }
}
