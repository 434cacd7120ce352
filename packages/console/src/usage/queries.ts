import type { UsageGrouping, UsageReport } from '@berth/contract'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { saveFile } from '../api/save-file.ts'
import type { Days } from './days.ts'

/** The subject of a report. */
export interface Asked extends Days {
  readonly by: UsageGrouping
  readonly whose: 'me' | 'organization'
}

const queryOf = ({ by, whose, from, to }: Asked): string => String(new URLSearchParams({ by, whose, from, to }))

/** A report of usage. The last one stays on the page until the next has arrived. */
export const usageQuery = (asked: Asked) =>
  queryOptions({
    queryKey: ['usage', asked],
    staleTime: 60_000,
    placeholderData: keepPreviousData,
    queryFn: () => call<UsageReport>('GET', `usage?${queryOf(asked)}`),
  })

/** Saves the report as CSV. @throws BerthError if the service refuses */
export const saveCsv = (asked: Asked): Promise<void> => saveFile(`usage/export?${queryOf(asked)}`)
