import { Discovery, RuntimeList } from '../discovery.ts'
import { operation } from '../operation.ts'

/** What a deployment offers (interface 2.12, 4.1). */
export const discoveryOperations = {
  getCapabilities: operation({
    method: 'GET',
    path: '/v1/capabilities',
    summary: 'Discover limits and capabilities',
    tag: 'Discovery',
    access: 'bearer',
    capability: 'svc.cloud.sessions:create',
    responses: { 200: { description: 'Limits of the deployment and what the credential holds.', schema: Discovery } },
    errors: [],
  }),
  listRuntimes: operation({
    method: 'GET',
    path: '/v1/runtimes',
    summary: 'List agent runtimes',
    tag: 'Discovery',
    access: 'bearer',
    capability: 'svc.cloud.sessions:create',
    responses: { 200: { description: 'The catalog of runtimes.', schema: RuntimeList } },
    errors: ['cloud_agent_catalog_unavailable'],
  }),
} as const
