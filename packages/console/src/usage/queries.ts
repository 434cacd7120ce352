import type { UsageGrouping, UsageReport } from '@berth/contract'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { saveFile } from '../api/save-file.ts'
import type { Days } from './days.ts'

/** The subject of a report. */
export interface UsageFilter extends Days {
  readonly by: UsageGrouping
  readonly whose: 'me' | 'organization'
}

const queryOf = ({ by, whose, from, to }: UsageFilter): string => String(new URLSearchParams({ by, whose, from, to }))

/** A report of usage. The last one stays on the page until the next has arrived. */
export const usageQuery = (filter: UsageFilter) =>
  queryOptions({
    queryKey: ['usage', filter],
    staleTime: 60_000,
    placeholderData: keepPreviousData,
    queryFn: () => call<UsageReport>('GET', `usage?${queryOf(filter)}`),
  })

/** Saves the report as CSV. @throws BerthError if the service refuses */
export const saveCsv = (filter: UsageFilter): Promise<void> => saveFile(`usage/export?${queryOf(filter)}`)
