import { Type } from 'typebox'
import { AdmitHost, AdmittedHost, Compute, MarkHost, OwnHostEnvelope, UpdateCompute } from '../compute.ts'
import { operation } from '../operation.ts'
import { Uuid } from '../scalar.ts'

const administrators = { access: 'person', needs: 'administrator', tag: 'Organizations' } as const
const HostPath = Type.Object({ hostId: Uuid })

/** What an organization runs on, and the machines that it brings itself. */
export const computeOperations = {
  getCompute: operation({
    ...administrators,
    method: 'GET',
    path: '/cloud/compute',
    summary: 'Read what the organization runs on',
    responses: { 200: { description: 'What it may run on, and its own hosts.', schema: Compute } },
    errors: [],
  }),
  updateCompute: operation({
    ...administrators,
    recent: true,
    method: 'PUT',
    path: '/cloud/compute',
    summary: 'Set what the organization runs on',
    description:
      'With `own_hosts`, sandboxes that rest on other hosts are given back, and Runs that have begun there end there. While no own host can be used, new work is refused with `cloud_compute_not_configured` or `cloud_compute_outdated`.',
    body: UpdateCompute,
    responses: { 200: { description: 'What it may run on now.', schema: Compute } },
    errors: [],
  }),
  admitHost: operation({
    ...administrators,
    recent: true,
    method: 'POST',
    path: '/cloud/compute/hosts',
    summary: 'Admit a host of the organization',
    description:
      'The host dials the service with `berth host` and its token, and gets sandboxes of the organization alone.',
    body: AdmitHost,
    responses: { 201: { description: 'The host, and its token.', schema: AdmittedHost } },
    errors: [],
  }),
  markHost: operation({
    ...administrators,
    method: 'PUT',
    path: '/cloud/compute/hosts/{hostId}/mark',
    summary: 'Cordon, drain or open a host of the organization',
    params: HostPath,
    body: MarkHost,
    responses: { 200: { description: 'The host as marked.', schema: OwnHostEnvelope } },
    errors: ['host_not_found'],
  }),
  loseHost: operation({
    ...administrators,
    recent: true,
    method: 'POST',
    path: '/cloud/compute/hosts/{hostId}/lost',
    summary: 'Declare a host of the organization lost',
    description:
      'It is gone for good, and its sandboxes with it: its Sessions go on elsewhere at once, from their checkpoints. A host that was heard of within the last minute is refused.',
    params: HostPath,
    responses: { 200: { description: 'The host.', schema: OwnHostEnvelope } },
    errors: ['host_not_found', 'host_not_away'],
  }),
  removeHost: operation({
    ...administrators,
    recent: true,
    method: 'DELETE',
    path: '/cloud/compute/hosts/{hostId}',
    summary: 'Remove a host of the organization',
    description: 'Its token admits nobody any more. It must not hold sandboxes.',
    params: HostPath,
    responses: { 204: { description: 'The host is removed.' } },
    errors: ['host_not_found', 'host_in_use'],
  }),
} as const
