// Made from FHIR R4's definitions by `npm run generate`.

/**
 * The types on the wire, one a line, and their elements in FHIR's order: name, `*` if it repeats or `@` if it is an
 * attribute in XML, and after a colon its type; a type with a dot is defined in place.
 *
 * @see https://hl7.org/fhir/R4/xml.html
 */
export const elementLists = `
Address id@:string extension*:Extension use:code type:code text:string line*:string city:string district:string state:string postalCode:string country:string period:Period
Age id@:string extension*:Extension value:decimal comparator:code unit:string system:uri code:code
Annotation id@:string extension*:Extension author[x]:Reference|string time:dateTime text:markdown
Appointment id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension identifier*:Identifier status:code cancelationReason:CodeableConcept serviceCategory*:CodeableConcept serviceType*:CodeableConcept specialty*:CodeableConcept appointmentType:CodeableConcept reasonCode*:CodeableConcept reasonReference*:Reference priority:unsignedInt description:string supportingInformation*:Reference start:instant end:instant minutesDuration:positiveInt slot*:Reference created:dateTime comment:string patientInstruction:string basedOn*:Reference participant*:Appointment.participant requestedPeriod*:Period
Appointment.participant id@:string extension*:Extension modifierExtension*:Extension type*:CodeableConcept actor:Reference required:code status:code period:Period
Attachment id@:string extension*:Extension contentType:code language:code data:base64Binary url:url size:unsignedInt hash:base64Binary title:string creation:dateTime
Bundle id:string meta:Meta implicitRules:uri language:code identifier:Identifier type:code timestamp:instant total:unsignedInt link*:Bundle.link entry*:Bundle.entry signature:Signature
Bundle.entry id@:string extension*:Extension modifierExtension*:Extension link*:Bundle.link fullUrl:uri resource:Resource search:Bundle.entry.search request:Bundle.entry.request response:Bundle.entry.response
Bundle.entry.request id@:string extension*:Extension modifierExtension*:Extension method:code url:uri ifNoneMatch:string ifModifiedSince:instant ifMatch:string ifNoneExist:string
Bundle.entry.response id@:string extension*:Extension modifierExtension*:Extension status:string location:uri etag:string lastModified:instant outcome:Resource
Bundle.entry.search id@:string extension*:Extension modifierExtension*:Extension mode:code score:decimal
Bundle.link id@:string extension*:Extension modifierExtension*:Extension relation:string url:uri
CapabilityStatement id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension url:uri version:string name:string title:string status:code experimental:boolean date:dateTime publisher:string contact*:ContactDetail description:markdown useContext*:UsageContext jurisdiction*:CodeableConcept purpose:markdown copyright:markdown kind:code instantiates*:canonical imports*:canonical software:CapabilityStatement.software implementation:CapabilityStatement.implementation fhirVersion:code format*:code patchFormat*:code implementationGuide*:canonical rest*:CapabilityStatement.rest messaging*:CapabilityStatement.messaging document*:CapabilityStatement.document
CapabilityStatement.document id@:string extension*:Extension modifierExtension*:Extension mode:code documentation:markdown profile:canonical
CapabilityStatement.implementation id@:string extension*:Extension modifierExtension*:Extension description:string url:url custodian:Reference
CapabilityStatement.messaging id@:string extension*:Extension modifierExtension*:Extension endpoint*:CapabilityStatement.messaging.endpoint reliableCache:unsignedInt documentation:markdown supportedMessage*:CapabilityStatement.messaging.supportedMessage
CapabilityStatement.messaging.endpoint id@:string extension*:Extension modifierExtension*:Extension protocol:Coding address:url
CapabilityStatement.messaging.supportedMessage id@:string extension*:Extension modifierExtension*:Extension mode:code definition:canonical
CapabilityStatement.rest id@:string extension*:Extension modifierExtension*:Extension mode:code documentation:markdown security:CapabilityStatement.rest.security resource*:CapabilityStatement.rest.resource interaction*:CapabilityStatement.rest.interaction searchParam*:CapabilityStatement.rest.resource.searchParam operation*:CapabilityStatement.rest.resource.operation compartment*:canonical
CapabilityStatement.rest.interaction id@:string extension*:Extension modifierExtension*:Extension code:code documentation:markdown
CapabilityStatement.rest.resource id@:string extension*:Extension modifierExtension*:Extension type:code profile:canonical supportedProfile*:canonical documentation:markdown interaction*:CapabilityStatement.rest.resource.interaction versioning:code readHistory:boolean updateCreate:boolean conditionalCreate:boolean conditionalRead:code conditionalUpdate:boolean conditionalDelete:code referencePolicy*:code searchInclude*:string searchRevInclude*:string searchParam*:CapabilityStatement.rest.resource.searchParam operation*:CapabilityStatement.rest.resource.operation
CapabilityStatement.rest.resource.interaction id@:string extension*:Extension modifierExtension*:Extension code:code documentation:markdown
CapabilityStatement.rest.resource.operation id@:string extension*:Extension modifierExtension*:Extension name:string definition:canonical documentation:markdown
CapabilityStatement.rest.resource.searchParam id@:string extension*:Extension modifierExtension*:Extension name:string definition:canonical type:code documentation:markdown
CapabilityStatement.rest.security id@:string extension*:Extension modifierExtension*:Extension cors:boolean service*:CodeableConcept description:markdown
CapabilityStatement.software id@:string extension*:Extension modifierExtension*:Extension name:string version:string releaseDate:dateTime
CodeSystem id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension url:uri identifier*:Identifier version:string name:string title:string status:code experimental:boolean date:dateTime publisher:string contact*:ContactDetail description:markdown useContext*:UsageContext jurisdiction*:CodeableConcept purpose:markdown copyright:markdown caseSensitive:boolean valueSet:canonical hierarchyMeaning:code compositional:boolean versionNeeded:boolean content:code supplements:canonical count:unsignedInt filter*:CodeSystem.filter property*:CodeSystem.property concept*:CodeSystem.concept
CodeSystem.concept id@:string extension*:Extension modifierExtension*:Extension code:code display:string definition:string designation*:CodeSystem.concept.designation property*:CodeSystem.concept.property concept*:CodeSystem.concept
CodeSystem.concept.designation id@:string extension*:Extension modifierExtension*:Extension language:code use:Coding value:string
CodeSystem.concept.property id@:string extension*:Extension modifierExtension*:Extension code:code value[x]:code|Coding|string|integer|boolean|dateTime|decimal
CodeSystem.filter id@:string extension*:Extension modifierExtension*:Extension code:code description:string operator*:code value:string
CodeSystem.property id@:string extension*:Extension modifierExtension*:Extension code:code uri:uri description:string type:code
CodeableConcept id@:string extension*:Extension coding*:Coding text:string
Coding id@:string extension*:Extension system:uri version:string code:code display:string userSelected:boolean
ContactDetail id@:string extension*:Extension name:string telecom*:ContactPoint
ContactPoint id@:string extension*:Extension system:code value:string use:code rank:positiveInt period:Period
Contributor id@:string extension*:Extension type:code name:string contact*:ContactDetail
Count id@:string extension*:Extension value:decimal comparator:code unit:string system:uri code:code
DataRequirement id@:string extension*:Extension type:code profile*:canonical subject[x]:CodeableConcept|Reference mustSupport*:string codeFilter*:DataRequirement.codeFilter dateFilter*:DataRequirement.dateFilter limit:positiveInt sort*:DataRequirement.sort
DataRequirement.codeFilter id@:string extension*:Extension path:string searchParam:string valueSet:canonical code*:Coding
DataRequirement.dateFilter id@:string extension*:Extension path:string searchParam:string value[x]:dateTime|Period|Duration
DataRequirement.sort id@:string extension*:Extension path:string direction:code
Distance id@:string extension*:Extension value:decimal comparator:code unit:string system:uri code:code
Dosage id@:string extension*:Extension modifierExtension*:Extension sequence:integer text:string additionalInstruction*:CodeableConcept patientInstruction:string timing:Timing asNeeded[x]:boolean|CodeableConcept site:CodeableConcept route:CodeableConcept method:CodeableConcept doseAndRate*:Dosage.doseAndRate maxDosePerPeriod:Ratio maxDosePerAdministration:Quantity maxDosePerLifetime:Quantity
Dosage.doseAndRate id@:string extension*:Extension type:CodeableConcept dose[x]:Range|Quantity rate[x]:Ratio|Range|Quantity
Duration id@:string extension*:Extension value:decimal comparator:code unit:string system:uri code:code
Element id@:string extension*:Extension
Expression id@:string extension*:Extension description:string name:id language:code expression:string reference:uri
Extension id@:string extension*:Extension url@:string value[x]:base64Binary|boolean|canonical|code|date|dateTime|decimal|id|instant|integer|markdown|oid|positiveInt|string|time|unsignedInt|uri|url|uuid|Address|Age|Annotation|Attachment|CodeableConcept|Coding|ContactPoint|Count|Distance|Duration|HumanName|Identifier|Money|Period|Quantity|Range|Ratio|Reference|SampledData|Signature|Timing|ContactDetail|Contributor|DataRequirement|Expression|ParameterDefinition|RelatedArtifact|TriggerDefinition|UsageContext|Dosage|Meta
HealthcareService id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension identifier*:Identifier active:boolean providedBy:Reference offeredIn*:Reference category*:CodeableConcept type*:CodeableConcept specialty*:CodeableConcept location*:Reference name:string comment:string extraDetails:markdown photo:Attachment telecom*:ContactPoint coverageArea*:Reference serviceProvisionCode*:CodeableConcept eligibility*:HealthcareService.eligibility program*:CodeableConcept characteristic*:CodeableConcept communication*:CodeableConcept referralMethod*:CodeableConcept appointmentRequired:boolean availableTime*:HealthcareService.availableTime notAvailable*:HealthcareService.notAvailable availabilityExceptions:string endpoint*:Reference
HealthcareService.availableTime id@:string extension*:Extension modifierExtension*:Extension daysOfWeek*:code allDay:boolean availableStartTime:time availableEndTime:time
HealthcareService.eligibility id@:string extension*:Extension modifierExtension*:Extension code:CodeableConcept comment:markdown
HealthcareService.notAvailable id@:string extension*:Extension modifierExtension*:Extension description:string during:Period
HumanName id@:string extension*:Extension use:code text:string family:string given*:string prefix*:string suffix*:string period:Period
Identifier id@:string extension*:Extension use:code type:CodeableConcept system:uri value:string period:Period assigner:Reference
Location id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension identifier*:Identifier status:code operationalStatus:Coding name:string alias*:string description:string mode:code type*:CodeableConcept telecom*:ContactPoint address:Address physicalType:CodeableConcept position:Location.position managingOrganization:Reference partOf:Reference hoursOfOperation*:Location.hoursOfOperation availabilityExceptions:string endpoint*:Reference
Location.hoursOfOperation id@:string extension*:Extension modifierExtension*:Extension daysOfWeek*:code allDay:boolean openingTime:time closingTime:time
Location.position id@:string extension*:Extension modifierExtension*:Extension longitude:decimal latitude:decimal altitude:decimal
Meta id@:string extension*:Extension versionId:id lastUpdated:instant source:uri profile*:canonical security*:Coding tag*:Coding
Money id@:string extension*:Extension value:decimal currency:code
Narrative id@:string extension*:Extension status:code div:xhtml
OperationOutcome id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension issue*:OperationOutcome.issue
OperationOutcome.issue id@:string extension*:Extension modifierExtension*:Extension severity:code code:code details:CodeableConcept diagnostics:string location*:string expression*:string
Organization id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension identifier*:Identifier active:boolean type*:CodeableConcept name:string alias*:string telecom*:ContactPoint address*:Address partOf:Reference contact*:Organization.contact endpoint*:Reference
Organization.contact id@:string extension*:Extension modifierExtension*:Extension purpose:CodeableConcept name:HumanName telecom*:ContactPoint address:Address
ParameterDefinition id@:string extension*:Extension name:code use:code min:integer max:string documentation:string type:code profile:canonical
Parameters id:string meta:Meta implicitRules:uri language:code parameter*:Parameters.parameter
Parameters.parameter id@:string extension*:Extension modifierExtension*:Extension name:string value[x]:base64Binary|boolean|canonical|code|date|dateTime|decimal|id|instant|integer|markdown|oid|positiveInt|string|time|unsignedInt|uri|url|uuid|Address|Age|Annotation|Attachment|CodeableConcept|Coding|ContactPoint|Count|Distance|Duration|HumanName|Identifier|Money|Period|Quantity|Range|Ratio|Reference|SampledData|Signature|Timing|ContactDetail|Contributor|DataRequirement|Expression|ParameterDefinition|RelatedArtifact|TriggerDefinition|UsageContext|Dosage|Meta resource:Resource part*:Parameters.parameter
Patient id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension identifier*:Identifier active:boolean name*:HumanName telecom*:ContactPoint gender:code birthDate:date deceased[x]:boolean|dateTime address*:Address maritalStatus:CodeableConcept multipleBirth[x]:boolean|integer photo*:Attachment contact*:Patient.contact communication*:Patient.communication generalPractitioner*:Reference managingOrganization:Reference link*:Patient.link
Patient.communication id@:string extension*:Extension modifierExtension*:Extension language:CodeableConcept preferred:boolean
Patient.contact id@:string extension*:Extension modifierExtension*:Extension relationship*:CodeableConcept name:HumanName telecom*:ContactPoint address:Address gender:code organization:Reference period:Period
Patient.link id@:string extension*:Extension modifierExtension*:Extension other:Reference type:code
Period id@:string extension*:Extension start:dateTime end:dateTime
Practitioner id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension identifier*:Identifier active:boolean name*:HumanName telecom*:ContactPoint address*:Address gender:code birthDate:date photo*:Attachment qualification*:Practitioner.qualification communication*:CodeableConcept
Practitioner.qualification id@:string extension*:Extension modifierExtension*:Extension identifier*:Identifier code:CodeableConcept period:Period issuer:Reference
PractitionerRole id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension identifier*:Identifier active:boolean period:Period practitioner:Reference organization:Reference code*:CodeableConcept specialty*:CodeableConcept location*:Reference healthcareService*:Reference telecom*:ContactPoint availableTime*:PractitionerRole.availableTime notAvailable*:PractitionerRole.notAvailable availabilityExceptions:string endpoint*:Reference
PractitionerRole.availableTime id@:string extension*:Extension modifierExtension*:Extension daysOfWeek*:code allDay:boolean availableStartTime:time availableEndTime:time
PractitionerRole.notAvailable id@:string extension*:Extension modifierExtension*:Extension description:string during:Period
Quantity id@:string extension*:Extension value:decimal comparator*:code unit:string system:uri code:code
Questionnaire id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension url:uri identifier*:Identifier version:string name:string title:string derivedFrom*:canonical status:code experimental:boolean subjectType*:code date:dateTime publisher:string contact*:ContactDetail description:markdown useContext*:UsageContext jurisdiction*:CodeableConcept purpose:markdown copyright:markdown approvalDate:date lastReviewDate:date effectivePeriod:Period code*:Coding item*:Questionnaire.item
Questionnaire.item id@:string extension*:Extension modifierExtension*:Extension linkId:string definition:uri code*:Coding prefix:string text:string type:code enableWhen*:Questionnaire.item.enableWhen enableBehavior:code required:boolean repeats:boolean readOnly:boolean maxLength:integer answerValueSet:canonical answerOption*:Questionnaire.item.answerOption initial*:Questionnaire.item.initial item*:Questionnaire.item
Questionnaire.item.answerOption id@:string extension*:Extension modifierExtension*:Extension value[x]:integer|date|time|string|Coding|Reference initialSelected:boolean
Questionnaire.item.enableWhen id@:string extension*:Extension modifierExtension*:Extension question:string operator:code answer[x]:boolean|decimal|integer|date|dateTime|time|string|Coding|Quantity|Reference
Questionnaire.item.initial id@:string extension*:Extension modifierExtension*:Extension value[x]:boolean|decimal|integer|date|dateTime|time|string|uri|Attachment|Coding|Quantity|Reference
QuestionnaireResponse id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension identifier:Identifier basedOn*:Reference partOf*:Reference questionnaire:canonical status:code subject:Reference encounter:Reference authored:dateTime author:Reference source:Reference item*:QuestionnaireResponse.item
QuestionnaireResponse.item id@:string extension*:Extension modifierExtension*:Extension linkId:string definition:uri text:string answer*:QuestionnaireResponse.item.answer item*:QuestionnaireResponse.item
QuestionnaireResponse.item.answer id@:string extension*:Extension modifierExtension*:Extension value[x]:boolean|decimal|integer|date|dateTime|time|string|uri|Attachment|Coding|Quantity|Reference item*:QuestionnaireResponse.item
Range id@:string extension*:Extension low:Quantity high:Quantity
Ratio id@:string extension*:Extension numerator:Quantity denominator:Quantity
Reference id@:string extension*:Extension reference:string type:uri identifier:Identifier display:string
RelatedArtifact id@:string extension*:Extension type:code label:string display:string citation:markdown url:url document:Attachment resource:canonical
RelatedPerson id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension identifier*:Identifier active:boolean patient:Reference relationship*:CodeableConcept name*:HumanName telecom*:ContactPoint gender:code birthDate:date address*:Address photo*:Attachment period:Period communication*:RelatedPerson.communication
RelatedPerson.communication id@:string extension*:Extension modifierExtension*:Extension language:CodeableConcept preferred:boolean
SampledData id@:string extension*:Extension origin:Quantity period:decimal factor:decimal lowerLimit:decimal upperLimit:decimal dimensions:positiveInt data:string
Schedule id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension identifier*:Identifier active:boolean serviceCategory*:CodeableConcept serviceType*:CodeableConcept specialty*:CodeableConcept actor*:Reference planningHorizon:Period comment:string
Signature id@:string extension*:Extension type*:Coding when:instant who:Reference onBehalfOf:Reference targetFormat:code sigFormat:code data:base64Binary
Slot id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension identifier*:Identifier serviceCategory*:CodeableConcept serviceType*:CodeableConcept specialty*:CodeableConcept appointmentType:CodeableConcept schedule:Reference status:code start:instant end:instant overbooked:boolean comment:string
Subscription id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension status:code contact*:ContactPoint end:instant reason:string criteria:string error:string channel:Subscription.channel
Subscription.channel id@:string extension*:Extension modifierExtension*:Extension type:code endpoint:url payload:code header*:string
Timing id@:string extension*:Extension modifierExtension*:Extension event*:dateTime repeat:Timing.repeat code:CodeableConcept
Timing.repeat id@:string extension*:Extension bounds[x]:Duration|Range|Period count:positiveInt countMax:positiveInt duration:decimal durationMax:decimal durationUnit:code frequency:positiveInt frequencyMax:positiveInt period:decimal periodMax:decimal periodUnit:code dayOfWeek*:code timeOfDay*:time when*:code offset:unsignedInt
TriggerDefinition id@:string extension*:Extension type:code name:string timing[x]:Timing|Reference|date|dateTime data*:DataRequirement condition:Expression
UsageContext id@:string extension*:Extension code:Coding value[x]:CodeableConcept|Quantity|Range|Reference
ValueSet id:string meta:Meta implicitRules:uri language:code text:Narrative contained*:Resource extension*:Extension modifierExtension*:Extension url:uri identifier*:Identifier version:string name:string title:string status:code experimental:boolean date:dateTime publisher:string contact*:ContactDetail description:markdown useContext*:UsageContext jurisdiction*:CodeableConcept immutable:boolean purpose:markdown copyright:markdown compose:ValueSet.compose expansion:ValueSet.expansion
ValueSet.compose id@:string extension*:Extension modifierExtension*:Extension lockedDate:date inactive:boolean include*:ValueSet.compose.include exclude*:ValueSet.compose.include
ValueSet.compose.include id@:string extension*:Extension modifierExtension*:Extension system:uri version:string concept*:ValueSet.compose.include.concept filter*:ValueSet.compose.include.filter valueSet*:canonical
ValueSet.compose.include.concept id@:string extension*:Extension modifierExtension*:Extension code:code display:string designation*:ValueSet.compose.include.concept.designation
ValueSet.compose.include.concept.designation id@:string extension*:Extension modifierExtension*:Extension language:code use:Coding value:string
ValueSet.compose.include.filter id@:string extension*:Extension modifierExtension*:Extension property:code op:code value:string
ValueSet.expansion id@:string extension*:Extension modifierExtension*:Extension identifier:uri timestamp:dateTime total:integer offset:integer parameter*:ValueSet.expansion.parameter contains*:ValueSet.expansion.contains
ValueSet.expansion.contains id@:string extension*:Extension modifierExtension*:Extension system:uri abstract:boolean inactive:boolean version:string code:code display:string designation*:ValueSet.compose.include.concept.designation contains*:ValueSet.expansion.contains
ValueSet.expansion.parameter id@:string extension*:Extension modifierExtension*:Extension name:string value[x]:string|boolean|integer|decimal|uri|code|dateTime
`;
