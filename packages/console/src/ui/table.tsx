import type { ReactNode } from 'react'
import { Day } from './dates.tsx'

/** One column of a table. */
export interface Column<Row> {
  readonly id: string
  readonly header: string
  readonly cell: (row: Row) => ReactNode
  /** True if the header is for screen readers alone, as that of buttons is. */
  readonly quiet?: boolean
  /** Classes of its cells, such as `max-sm:hidden` if phones have no room for them. */
  readonly className?: string
}

/** Returns a column of days, for which phones have no room. */
export function dayColumn<Row>(id: string, header: string, dayOf: (row: Row) => string): Column<Row> {
  return {
    id,
    header,
    className: 'max-sm:hidden',
    cell: row => (
      <span className="text-ink-2">
        <Day at={dayOf(row)} />
      </span>
    ),
  }
}

/** Rows under named columns. The first column names the row; on phones columns are left out rather than scrolled. */
export function Table<Row>(props: {
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
}) {
  const { label, columns, rows, keyOf } = props
  return (
    <table className="w-full table-auto border-collapse text-[0.8125rem]">
      <caption className="sr-only">{label}</caption>
      <thead>
        <tr className="border-b border-line">
          {columns.map(({ id, header, quiet, className = '' }) => (
            <th
              key={id}
              scope="col"
              className={`h-8 px-2 text-left text-xs font-medium whitespace-nowrap text-ink-3 first:pl-0 last:pr-0 ${className}`}
            >
              {quiet === true ? <span className="sr-only">{header}</span> : header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <tr key={keyOf(row)} className="border-b border-line">
            {columns.map(({ id, cell, className = '' }, at) => {
              const Cell = at === 0 ? 'th' : 'td'
              return (
                <Cell
                  key={id}
                  {...(at === 0 ? { scope: 'row' } : {})}
                  className={`px-2 py-2.5 text-left align-middle font-normal first:pl-0 last:pr-0 ${at === 0 ? 'w-full max-w-0' : 'whitespace-nowrap'} ${className}`}
                >
                  {cell(row)}
                </Cell>
              )
            })}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
