/**
 * Initial codes of LocalServiceType for outpatient services; an installation extends the CodeSystem or uses its own.
 */
export const services = {
  CT: 'Computed tomography',
  MR: 'Magnetic resonance imaging',
  US: 'Ultrasound examination',
  'general-consultation': 'General medical consultation',
  'surgical-consultation': 'Surgical consultation',
  'follow-up': 'Follow-up visit',
  vaccination: 'Vaccination',
  'blood-draw': 'Blood draw',
} as const;

/** Codes of LocalSpecialty. */
export const specialties = {
  'general-medicine': 'General medicine',
  'internal-medicine': 'Internal medicine',
  surgery: 'Surgery',
  radiology: 'Radiology',
  gynaecology: 'Gynaecology',
  paediatrics: 'Paediatrics',
} as const;
