import { Discovery, RuntimeList } from '../discovery.ts'
import { operation } from '../operation.ts'

/** Discovery of limits, capabilities and runtimes. */
export const discoveryOperations = {
  getCapabilities: operation({
    method: 'GET',
    path: '/v1/capabilities',
    summary: 'Discover limits and capabilities',
    description:
      'Returns the limits of the deployment, and the capabilities of the credential. Read limits here instead of assuming them.',
    tag: 'Discovery',
    access: 'bearer',
    capability: 'svc.cloud.sessions:create',
    responses: {
      200: { description: 'The limits of the deployment and the capabilities of the credential.', schema: Discovery },
    },
    errors: [],
  }),
  listRuntimes: operation({
    method: 'GET',
    path: '/v1/runtimes',
    summary: 'List agent runtimes',
    description: 'Lists the agents that a Session can name, and why one is not available.',
    tag: 'Discovery',
    access: 'bearer',
    capability: 'svc.cloud.sessions:create',
    responses: { 200: { description: 'The catalog of runtimes.', schema: RuntimeList } },
    errors: ['cloud_agent_catalog_unavailable'],
  }),
} as const
