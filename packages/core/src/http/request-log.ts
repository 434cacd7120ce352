import { type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { pathOf } from './request/request-path.ts'

/** Pages whose path contains a secret: one-time links, the intents of apps, and the steps of a sign-in. */
const secretPath =
  /^(\/+(?:links|install|api\/+apps\/+installation-intents|interaction|oidc\/+auth|oidc\/+device(?!\/+auth$))\/).+/i

/** Masks the secret of a path. The router decodes paths, so an encoded one leads to the same page. */
function withoutSecrets(path: string): string {
  const masked = path.replace(/%[0-7][0-9a-f]/gi, decodeURIComponent).replace(secretPath, '$1:secret')
  return masked.endsWith('/:secret') ? masked : path
}

/**
 * Logs one line for each finished request. It names the path but no query, header or body, which keeps credentials and
 * people's words out of the log.
 */
export class RequestLog extends LogController {
  override incomingRequest(): void {}

  override requestCompleted(error: Error | null | undefined, request: FastifyRequest, reply: FastifyReply): void {
    const line = {
      method: request.method,
      path: withoutSecrets(pathOf(request.url)),
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime),
    }
    if (error) request.log.info({ ...line, err: error }, 'request broke off')
    else request.log.info(line, 'request')
  }

  override routeNotFound(): void {}
}
