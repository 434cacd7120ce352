import { ApiError } from '@berth/platform/kit/api-error.ts'
import { isClientLeft } from '@berth/platform/kit/client-left.ts'
import { DatabaseUnavailable } from '@berth/platform/storage/postgres/database-errors.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { html } from './html.ts'
import { type Page, sendPage } from './layout.ts'

const busy: Page = {
  title: 'Please try again',
  content: html`<p>The service is busy or restarting. Wait a few seconds, then go back and send the form again.</p>`,
}
const limited: Page = {
  title: 'Too many attempts',
  content: html`<p>Too many attempts came from your network. Wait a minute, then try again.</p>`,
}
const refused: Page = {
  title: 'That did not work',
  content: html`<p>The form was not sent as this page expects it. Go back, reload the page and try again.</p>`,
}
const failed: Page = {
  title: 'Something went wrong',
  content: html`<p>The service failed, and its log says why. Try again later.</p>`,
}

/** Answers an error of a page's route with a page; register it as the route's `errorHandler`. */
export function sendFailure(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error instanceof DatabaseUnavailable) {
    request.log.warn({ err: error }, 'a page was refused because the database is away')
    return sendPage(reply.header('retry-after', '2'), 503, busy)
  }
  // The stream of a body that breaks off fails with an error of the connection.
  if (isClientLeft(error) || (request.raw.destroyed && !request.raw.complete)) {
    request.log.info({ err: error }, 'the client left before the page')
    return sendPage(reply, 400, refused)
  }
  if (!(error instanceof ApiError)) {
    request.log.error({ err: error }, 'a page failed with an unexpected error')
    return sendPage(reply, 500, failed)
  }
  reply.headers(error.headers)
  return sendPage(reply, error.status, error.status === 429 ? limited : error.status >= 500 ? busy : refused)
}
