import { ExchangeEndUserToken, ExchangeInstallationToken, IssuedToken } from '../app-token.ts'
import { operation } from '../operation.ts'

const shared = { tag: 'Apps', access: 'assertion', origin: 'account', method: 'POST' } as const

/** Tokens that the backends of apps get for their assertions. */
export const appTokenOperations = {
  exchangeInstallationToken: operation({
    ...shared,
    path: '/auth/app-installation-token',
    summary: 'Exchange an assertion for an installation token',
    description:
      "The token opens one installation for one audience. What it may do is the installation's grant at each request.",
    body: ExchangeInstallationToken,
    responses: { 200: { description: 'The token.', schema: IssuedToken } },
    errors: ['insufficient_scope', 'installation_not_found', 'setup_authority_not_found'],
  }),
  exchangeEndUserToken: operation({
    ...shared,
    path: '/auth/app-end-user-token',
    summary: 'Exchange an assertion for a token of an end user',
    description: 'The token opens the AI gateway alone, and its usage is attributed to `endUserId`.',
    body: ExchangeEndUserToken,
    responses: { 200: { description: 'The token.', schema: IssuedToken } },
    errors: ['insufficient_scope', 'installation_not_found'],
  }),
} as const
