/** The `typ` header of each token that this service signs. A token of one type is never taken for another. */
export const tokenTypes = {
  /** RFC 9068 access token of a person. */
  person: 'at+jwt',
  installation: 'svc-installation+jwt',
  endUser: 'svc-end-user+jwt',
} as const

/** Audiences of installation tokens. */
export const audiences = ['svc-cloud', 'svc-ai'] as const

export type Audience = (typeof audiences)[number]

/** The first-party client, which is also the audience of people's tokens. */
export const cloudClient = 'svc-cloud'

/** The issuer of every token: the `iss` of tokens and the `aud` of apps' assertions. */
export const issuerOf = (authUrl: string): string => `${authUrl.replace(/\/$/, '')}/oidc`
