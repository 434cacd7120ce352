import { Type } from 'typebox'
import { operation } from '../operation.ts'
import { closed, open } from '../scalar.ts'

const JsonRpcError = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    error: Type.Object({ code: Type.Integer(), message: Type.String() }, open),
  },
  { ...open, title: 'JsonRpcError' },
)

/** Tools for agents elsewhere. */
export const toolOperations = {
  callTools: operation({
    method: 'POST',
    path: '/v1/mcp',
    summary: 'Use Berth from an agent',
    description:
      'The streamable HTTP transport of the Model Context Protocol, without sessions: each request is one JSON-RPC message, and the response is JSON, or a stream of server-sent events that ends with the answer. Tools act with the bearer of the request, and need what the operations behind them need. If the protocol itself refuses a request, such as one for a version of it that is not known, the answer is 400 or 404 with an error of JSON-RPC alone, as the protocol demands: its `error` is an object, not a code.',
    tag: 'Tools',
    access: 'bearer',
    capability: 'svc.cloud.sessions:create',
    mirrored: false,
    body: Type.Object(
      {
        jsonrpc: Type.Literal('2.0'),
        method: Type.String(),
        id: Type.Optional(Type.Unknown()),
        params: Type.Optional(Type.Unknown()),
      },
      closed,
    ),
    responses: {
      200: { description: 'The answer.', mediaTypes: ['application/json', 'text/event-stream'] },
      202: { description: 'A notification was taken.' },
    },
    otherErrors: {
      400: {
        description: 'A JSON-RPC error: the message is none of the protocol, or of no version that is spoken.',
        schema: JsonRpcError,
      },
      404: { description: 'A JSON-RPC error: there is no such method.', schema: JsonRpcError },
    },
    errors: ['cross_site_request_refused'],
  }),
} as const
