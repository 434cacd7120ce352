import type { PortList } from '@berth/contract'
import { queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'

/** No stream tells of ports, so they are asked for while somebody looks. */
const pollMs = 4_000
const startingMs = 1_000

/** The ports of a Session's sandbox, and its preview. */
export const portsQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['session', sessionId, 'ports'],
    queryFn: () => call<PortList>('GET', `sessions/${sessionId}/ports`),
    refetchInterval: ({ state }) => {
      if (state.status === 'error') return false
      return state.data?.preview !== undefined && state.data.ports.length === 0 ? startingMs : pollMs
    },
  })
