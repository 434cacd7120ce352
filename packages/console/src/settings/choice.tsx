/** A choice of a few that takes effect at once. */
export function Choice<T extends string>(props: {
  name: string
  label: string
  hint?: string
  options: readonly (readonly [value: T, label: string])[]
  value: T
  onChange: (value: T) => void
}) {
  const { name, label, hint, options, value, onChange } = props
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="mb-1.5 text-[0.8125rem] font-medium">{label}</legend>
      <div className="flex gap-1.5">
        {options.map(([option, label]) => (
          <label
            key={option}
            className="flex h-9 flex-1 items-center justify-center rounded-md border border-line-strong text-[0.8125rem] has-checked:border-accent has-checked:bg-accent-soft has-focus-visible:outline-2 has-focus-visible:outline-accent"
          >
            <input
              type="radio"
              name={name}
              className="sr-only"
              checked={value === option}
              onChange={() => onChange(option)}
            />
            {label}
          </label>
        ))}
      </div>
      {hint !== undefined && <p className="text-xs text-ink-3">{hint}</p>}
    </fieldset>
  )
}
