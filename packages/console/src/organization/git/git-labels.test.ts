import { expect, test } from 'vitest'
import { hostName } from './git-labels.ts'

test.each([
  ['github:github.com', 'github', 'GitHub'],
  ['github:git.acme.example', 'github', 'GitHub Enterprise at git.acme.example'],
  ['local', 'local', "This service's own repositories"],
  ['forge:git.example', 'forge', 'git.example'],
])('%s is called %s', (host, provider, name) => {
  expect(hostName({ host, provider })).toBe(name)
})
