import { Discovery, RuntimeList } from '../discovery.ts'
import { guarded } from '../operation.ts'

const create = guarded('Discovery', 'svc.cloud.sessions:create')

/** Discovery of limits, capabilities and runtimes. */
export const discoveryOperations = {
  getCapabilities: create({
    method: 'GET',
    path: '/v1/capabilities',
    summary: 'Discover limits and capabilities',
    description:
      'Returns the limits of the deployment, and the capabilities of the credential. Read limits here instead of assuming them.',
    responses: {
      200: { description: 'The limits of the deployment and the capabilities of the credential.', schema: Discovery },
    },
    errors: [],
  }),
  listRuntimes: create({
    method: 'GET',
    path: '/v1/runtimes',
    summary: 'List agent runtimes',
    description: 'Lists the agents that a Session can name, and why one is not available.',
    responses: { 200: { description: 'The catalog of runtimes.', schema: RuntimeList } },
    errors: ['cloud_agent_catalog_unavailable'],
  }),
} as const
