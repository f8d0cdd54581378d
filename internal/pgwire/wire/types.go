package wire

// The types of the messages that clients send (PostgreSQL: frontend), by PostgreSQL's names.
const (
	Bind         byte = 'B'
	Close        byte = 'C'
	CopyFail     byte = 'f'
	Describe     byte = 'D'
	Execute      byte = 'E'
	Flush        byte = 'H'
	FunctionCall byte = 'F'
	Parse        byte = 'P'
	Query        byte = 'Q'
	Sync         byte = 'S'
	Terminate    byte = 'X'
	Password     byte = 'p' // of SASL too; while a client logs in only
)

// The types of the messages that both sides send.
const (
	CopyData byte = 'd'
	CopyDone byte = 'c'
)

// The types of the messages to clients (PostgreSQL: backend).
const (
	Authentication           byte = 'R' // AuthenticationOk, by the code in the body
	BackendKeyData           byte = 'K'
	BindComplete             byte = '2'
	CloseComplete            byte = '3'
	CommandComplete          byte = 'C'
	CopyInResponse           byte = 'G'
	CopyOutResponse          byte = 'H'
	DataRow                  byte = 'D'
	EmptyQueryResponse       byte = 'I'
	ErrorResponse            byte = 'E'
	NegotiateProtocolVersion byte = 'v'
	NoData                   byte = 'n'
	NoticeResponse           byte = 'N'
	NotificationResponse     byte = 'A'
	ParameterDescription     byte = 't'
	ParameterStatus          byte = 'S'
	ParseComplete            byte = '1'
	PortalSuspended          byte = 's'
	ReadyForQuery            byte = 'Z'
	RowDescription           byte = 'T'
)

// What Describe and Close name, in the first byte of their bodies.
const (
	TargetPortal    byte = 'P'
	TargetStatement byte = 'S'
)

// The answers to a request for encryption: a byte, no message.
const (
	EncryptionAccepted byte = 'S'
	EncryptionRefused  byte = 'N'
)
