import { type ComponentProps, type ReactNode, useId } from 'react'

/** A line of text fits into `h-8`, and into `h-9` where the text is larger: more room around it would cut it. */
export const inputClass =
  'w-full rounded-md border border-control bg-raised px-2.5 py-1.25 text-sm text-ink focus-visible:outline-offset-0 disabled:opacity-60 aria-invalid:border-bad max-lg:text-base'

/** A label, its control, and below it an explanation or a fault. */
export function Field(props: {
  label: string
  hint?: ReactNode
  fault?: ReactNode
  children: (attributes: { id: string; 'aria-describedby': string; 'aria-invalid': boolean | undefined }) => ReactNode
}) {
  const id = useId()
  const about = `${id}-about`
  const invalid = props.fault !== undefined || undefined
  return (
    <div className="flex flex-col gap-1.5">
      <label htmlFor={id} className="text-[0.8125rem] font-medium">
        {props.label}
      </label>
      {props.children({ id, 'aria-describedby': about, 'aria-invalid': invalid })}
      <p id={about} className={`text-xs ${invalid === true ? 'text-bad' : 'text-ink-3'}`}>
        {props.fault ?? props.hint}
      </p>
    </div>
  )
}

/** A choice of a few, as the browser's own control: it works on phones and for screen readers as it is. */
export function Select({ className = '', ...rest }: ComponentProps<'select'>) {
  return <select {...rest} className={`${inputClass} h-8 max-lg:h-9 ${className}`} />
}
