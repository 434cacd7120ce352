import type { JsonNode } from './json-node.ts'

/** How the deployment appears in the commits that it makes. */
export interface CommitsConfig {
  readonly name: string | undefined
  readonly email: string | undefined
  /** The text of a private key. */
  readonly signingKey: string | undefined
}

/** Reads `commits` of the configuration file. @throws StartError that names the place */
export function readCommits(node: JsonNode | undefined): CommitsConfig {
  const members = node?.object('name', 'email', 'signingKey')
  return {
    name: members?.name?.string(/^[^\p{Cc}<>]{1,100}$/u),
    email: members?.email?.string(/^[^\s\p{Cc}<>@]+@[^\s\p{Cc}<>@]+$/u),
    signingKey: members?.signingKey?.secret(),
  }
}
