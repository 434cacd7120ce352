import { missingAccountText } from '@berth/client'
import { Type } from 'typebox'
import { nextCursor, tool } from '../tool.ts'

const page = Type.Object({
  cursor: Type.Optional(Type.String({ description: '`nextCursor` of the page before.' })),
})

export const listRepositories = tool({
  name: 'list_repositories',
  title: 'List repositories',
  description: 'Lists the repositories on which a session can work.',
  input: page,
  output: Type.Object({ repositories: Type.Array(Type.String()), nextCursor: nextCursor() }),
  reads: true,
  async run({ cursor }, { client, isPerson, signal }) {
    const operation = isPerson ? 'listOrganizationRepositories' : 'listRepositories'
    const query = { limit: 100, ...(cursor !== undefined && { cursor }) }
    const found = await client.call(operation, { query }, { signal })
    const names = found.repositories.map(({ fullName }) => fullName)
    const missing = (found.missing ?? []).filter(({ retried }) => !retried).map(missingAccountText)
    const none = found.hasMore || missing.length > 0 ? [] : ['None is granted.']
    return {
      text: [...(names.length > 0 ? names : none), ...missing].join('\n') || 'None on this page.',
      data: { repositories: names, nextCursor: found.hasMore ? found.nextCursor : null },
    }
  },
})

export const listEnvironments = tool({
  name: 'list_environments',
  title: 'List environments',
  description: 'Lists the environments that can set up the sandbox of a session.',
  input: page,
  output: Type.Object({
    environments: Type.Array(Type.Object({ id: Type.String(), name: Type.String() })),
    nextCursor: nextCursor(),
  }),
  reads: true,
  async run({ cursor }, { client, signal }) {
    const found = await client.call(
      'listEnvironments',
      { query: { limit: 100, ...(cursor !== undefined && { cursor }) } },
      { signal },
    )
    const environments = found.environments.map(({ id, document }) => ({ id, name: document.name }))
    return {
      text: environments.map(({ id, name }) => `${id} ${name}`).join('\n') || 'There is none.',
      data: { environments, nextCursor: found.hasMore ? found.nextCursor : null },
    }
  },
})

export const listRuntimes = tool({
  name: 'list_runtimes',
  title: 'List agents',
  description: 'Lists the agents that a session can run.',
  input: Type.Object({}),
  output: Type.Object({ runtimes: Type.Array(Type.Object({ id: Type.String(), available: Type.Boolean() })) }),
  reads: true,
  async run(_, { client, signal }) {
    const { runtimes } = await client.call('listRuntimes', {}, { signal })
    const found = runtimes.map(({ id, available }) => ({ id, available }))
    return {
      text: found.map(({ id, available }) => `${id}${available ? '' : ' (not available)'}`).join('\n'),
      data: { runtimes: found },
    }
  },
})
